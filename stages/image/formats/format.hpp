/// Common code of the decoders for single formats. Not part of the interface of stages/image: use
/// decode_image.hpp.
#pragma once

#include <string>
#include <string_view>

#include <seam/image.hpp>

namespace seam::stages::formats {

/// An image as stored in its file.
struct Encoded {
  std::span<const std::uint8_t> bytes;
  std::string_view name;    ///< for messages
  std::string_view format;  ///< "JPEG", for messages
  std::uint64_t max_pixels = 0;
};

/// RGB pixels as stored, and the camera's orientation (Exif tag 0x0112).
struct Decoded {
  Image image;
  int orientation = 1;
};

/// The file is truncated or damaged: it must be downloaded again or left out.
[[noreturn]] void refuse_damaged(const Encoded& encoded, const std::string& what);
[[noreturn]] void refuse_truncated(const Encoded& encoded);
/// The file is intact, but of an unsupported kind: it must be converted.
[[noreturn]] void refuse_unsupported(const Encoded& encoded, const std::string& what);
/// Rejects images without pixels and those over the limit.
void check_size(const Encoded& encoded, std::uint64_t width, std::uint64_t height);

/// Reads numbers and runs of bytes sequentially; calls refuse_damaged at the end of the data.
class Reader {
 public:
  explicit Reader(const Encoded& encoded, std::size_t position = 0)
      : encoded_(&encoded), position_(position) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t left() const {
    return position_ < encoded_->bytes.size() ? encoded_->bytes.size() - position_ : 0;
  }
  void seek(std::size_t position) { position_ = position; }
  void skip(std::size_t count) { static_cast<void>(take(count)); }
  std::span<const std::uint8_t> take(std::size_t count);
  std::uint8_t u8() { return take(1)[0]; }
  std::uint32_t u32_little();
  std::uint32_t u32_big();

 private:
  const Encoded* encoded_;
  std::size_t position_;
};

/// The orientation in a block of Exif data that begins with its TIFF header ("II*\0" or "MM\0*"),
/// with or without "Exif\0\0" before it. 1 if there is none: bad metadata does not invalidate a
/// good image.
int exif_orientation(std::span<const std::uint8_t> block);

/// value of 0..maximum to 0..255, rounded.
inline std::uint8_t to_byte(std::uint32_t value, std::uint32_t maximum) {
  return static_cast<std::uint8_t>((std::uint64_t{value} * 255 + maximum / 2) / maximum);
}

Decoded decode_jpeg(const Encoded& encoded);
Decoded decode_png(const Encoded& encoded);
Decoded decode_webp(const Encoded& encoded);
/// PBM, PGM, PPM (plain and raw) and PAM.
Decoded decode_portable_map(const Encoded& encoded);

}  // namespace seam::stages::formats
