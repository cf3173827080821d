#include "stages/image/decode.hpp"

#include <algorithm>
#include <system_error>

#include "stages/counted.hpp"
#include "stages/file_piece.hpp"
#include "stages/image/decode_image.hpp"

namespace seam::stages {
namespace {

/// Sets all three channels of every pixel to its luma: 0.299 red, 0.587 green, 0.114 blue, as in
/// JPEG.
void take_colour_away(Image& image) {
  const std::span<std::uint8_t> pixels{image.data(), image.bytes()};
  for (std::size_t i = 0; i + 2 < pixels.size(); i += 3) {
    const std::uint32_t luma =
        (19595U * pixels[i] + 38470U * pixels[i + 1] + 7471U * pixels[i + 2] + 32768U) >> 16U;
    std::fill_n(pixels.begin() + static_cast<std::ptrdiff_t>(i), 3,
                static_cast<std::uint8_t>(luma));
  }
}

/// A piece does not change: OpenFile checks that its file has not.
std::optional<FileStamp> stamp_of_image(const Packet& packet) {
  if (packet.has(field::piece)) return FileStamp{packet.get(field::piece).size, {}};
  return stamp_of(packet.get(field::path));
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::filesystem::path& file) {
  std::error_code no_size;
  std::error_code no_time;
  FileStamp stamp;
  stamp.size = std::filesystem::file_size(file, no_size);
  stamp.written = std::filesystem::last_write_time(file, no_time);
  if (no_size || no_time) return std::nullopt;
  return stamp;
}

std::optional<Image> PictureCache::find(const std::filesystem::path& file,
                                        const FileStamp& stamp) const {
  Image kept;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(file.native());
    if (entry == entries_.end() || entry->second.stamp != stamp) return std::nullopt;
    kept = entry->second.image;
  }
  return kept.clone();  // outside the lock, as the only expensive step
}

bool PictureCache::keep(const std::filesystem::path& file, const FileStamp& stamp,
                        const Image& image) {
  Image own = image.clone();
  const std::lock_guard lock(mutex_);
  const auto former = entries_.find(file.native());
  if (former != entries_.end()) {
    room_ += former->second.image.bytes();
    entries_.erase(former);
  }
  if (own.bytes() > room_) return !std::exchange(full_, true);
  room_ -= own.bytes();
  entries_.emplace(file.native(), Entry{stamp, std::move(own)});
  return false;
}

std::size_t PictureCache::pictures() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void Decode::declare(Declaration& d) {
  d.doc(
      "Reads an image file and decodes it to RGB. The content determines the format, the camera's "
      "orientation is applied, and a truncated or damaged file is an error, never an image that is "
      "partly grey.");
  d.parameter("max_pixels", max_pixels_, "maximum size of an image, checked before decoding")
      .at_least(1)
      .unit("pixels");
  d.parameter("colour", colour_, "grey: three equal channels, for models that must not see colour",
              {{"rgb", Colour::rgb}, {"grey", Colour::grey}});
  d.parameter(
       "cache", cache_mebibytes_,
       "memory for decoded images, so that later epochs need not decode them again; 0: no cache")
      .range(0, 1 << 24)
      .unit("MiB");
  d.needs(field::path).doc("the file to read");
  d.accepts(field::piece).doc("read instead of the whole file");
  d.provides(field::image)
      .contract("u8[H,W,3]")
      .doc("its pixels, upright, 8-bit RGB")
      .values({"as decoded"});
}

void Decode::open(Context& /*context*/) {
  constexpr std::uint64_t mebibyte = 1U << 20U;
  if (cache_mebibytes_ == 0) return;
  cache_ = std::make_unique<PictureCache>(static_cast<std::uint64_t>(cache_mebibytes_) * mebibyte);
}

Image Decode::decoded(const Packet& packet) const {
  const std::filesystem::path& path = packet.get(field::path);
  const std::vector<std::uint8_t> bytes =
      packet.has(field::piece) ? packet.get(field::piece).read() : read_file(path);
  Image image = decode_image(bytes, path.string(), static_cast<std::uint64_t>(max_pixels_));
  if (colour_ == Colour::grey) take_colour_away(image);
  return image;
}

void Decode::process(Packet& packet, Context& context) const {
  const std::filesystem::path& path = packet.get(field::path);
  // Taken before the file is read: if the file changes meanwhile, the next epoch reads it again.
  const std::optional<FileStamp> stamp = cache_ ? stamp_of_image(packet) : std::nullopt;
  if (stamp) {
    if (std::optional<Image> kept = cache_->find(path, *stamp)) {
      packet.set(field::image, *std::move(kept));
      return;
    }
  }
  Image image = decoded(packet);
  if (stamp && cache_->keep(path, *stamp, image)) {
    context.info("the cache of " + counted(cache_mebibytes_, "MiB", "MiB") + " is full with " +
                 counted(cache_->pictures(), "image") +
                 "; the others are decoded in every epoch (raise 'cache' to keep more)");
  }
  packet.set(field::image, std::move(image));
}

}  // namespace seam::stages
