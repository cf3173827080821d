#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "stages/image/formats/format.hpp"

namespace seam::stages::formats {
namespace {

constexpr std::size_t signature_bytes = 8;

/// libpng's state, freed at the end of scope. libpng leaves by longjmp, so the functions that call
/// it must not have objects with destructors; this object is outside them.
struct PngSession {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const Encoded* encoded = nullptr;
  std::size_t position = 0;
  std::jmp_buf escape{};
  std::array<char, 128> message{};

  explicit PngSession(const Encoded& source) : encoded(&source) {}
  PngSession& operator=(PngSession&&) = delete;  // not copyable
  ~PngSession() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void leave_png(png_structp png, png_const_charp text) {
  auto& session = *static_cast<PngSession*>(png_get_error_ptr(png));
  std::strncpy(session.message.data(), text, session.message.size() - 1);
  std::longjmp(session.escape, 1);
}

void ignore_warning(png_structp /*png*/, png_const_charp /*text*/) {}

void read_bytes(png_structp png, png_bytep out, std::size_t count) {
  auto& session = *static_cast<PngSession*>(png_get_io_ptr(png));
  const auto bytes = session.encoded->bytes;
  if (count > bytes.size() - session.position) png_error(png, "it is truncated");
  std::memcpy(out, bytes.data() + session.position, count);
  session.position += count;
}

bool start_png(PngSession& session) {
  if (setjmp(session.escape) != 0) return false;  // NOLINT(cert-err52-cpp): libpng's way out
  session.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &session, leave_png, ignore_warning);
  if (session.png == nullptr) return false;
  session.info = png_create_info_struct(session.png);
  if (session.info == nullptr) return false;
  png_set_read_fn(session.png, &session, read_bytes);
  png_set_user_limits(session.png, PNG_UINT_31_MAX,
                      PNG_UINT_31_MAX);  // check_size has checked the size
  // Text, profiles and the like are skipped: they do not affect the pixels, and texts that would
  // unpack to gigabytes cost nothing.
  png_set_keep_unknown_chunks(session.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  // Transparency is dropped, including the tRNS chunk, so that no alpha channel is created.
  constexpr std::array<png_byte, 5> transparency{'t', 'R', 'N', 'S', 0};
  png_set_keep_unknown_chunks(session.png, PNG_HANDLE_CHUNK_NEVER, transparency.data(), 1);
  png_read_info(session.png, session.info);
  png_set_expand(session.png);
  png_set_scale_16(session.png);
  png_set_strip_alpha(session.png);
  png_set_gray_to_rgb(session.png);
  png_set_interlace_handling(session.png);
  png_read_update_info(session.png, session.info);
  return true;
}

bool read_png_pixels(PngSession& session, png_bytepp rows) {
  if (setjmp(session.escape) != 0) return false;  // NOLINT(cert-err52-cpp): libpng's way out
  png_read_image(session.png, rows);
  png_read_end(session.png, nullptr);  // checks the rest, to detect a truncated file
  return true;
}

/// Searches the chunks for "eXIf". Stops silently at damaged chunks, which libpng reports.
int png_orientation(const Encoded& encoded) {
  Reader reader(encoded, signature_bytes);
  while (reader.left() >= 12) {
    const std::uint32_t length = reader.u32_big();
    const auto type = reader.take(4);
    if (std::size_t{length} + 4 > reader.left()) break;
    const auto data = reader.take(length);
    if (std::memcmp(type.data(), "eXIf", 4) == 0) return exif_orientation(data);
    reader.skip(4);
  }
  return 1;
}

}  // namespace

Decoded decode_png(const Encoded& encoded) {
  Reader reader(encoded, signature_bytes);
  const std::uint32_t length = reader.u32_big();
  const auto type = reader.take(4);
  if (length != 13 || std::memcmp(type.data(), "IHDR", 4) != 0) {
    refuse_damaged(encoded, "it does not begin with a header chunk");
  }
  const std::uint32_t width = reader.u32_big();
  const std::uint32_t height = reader.u32_big();
  check_size(encoded, width, height);

  PngSession session(encoded);
  if (!start_png(session)) refuse_damaged(encoded, session.message.data());
  if (png_get_channels(session.png, session.info) != 3 ||
      png_get_rowbytes(session.png, session.info) != std::size_t{3} * width) {
    refuse_unsupported(encoded, "it does not expand to RGB");
  }
  Decoded decoded{.image = Image(static_cast<int>(height), static_cast<int>(width), 3),
                  .orientation = png_orientation(encoded)};
  std::vector<png_bytep> rows(height);
  for (std::uint32_t y = 0; y < height; ++y) rows[y] = decoded.image.row(static_cast<int>(y));
  if (!read_png_pixels(session, rows.data())) refuse_damaged(encoded, session.message.data());
  return decoded;
}

}  // namespace seam::stages::formats
