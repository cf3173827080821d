#include <webp/decode.h>

#include <cstring>

#include "stages/image/formats/format.hpp"

namespace seam::stages::formats {
namespace {

/// Checks that the container is complete, and looks for its Exif chunk.
int check_container(const Encoded& encoded) {
  Reader reader(encoded, 4);
  const std::size_t end = std::size_t{reader.u32_little()} + 8;
  if (end > encoded.bytes.size()) {
    refuse_damaged(encoded, "it is truncated after " + std::to_string(encoded.bytes.size()) +
                                " of " + std::to_string(end) + " bytes");
  }
  int orientation = 1;
  reader.seek(12);
  while (reader.position() + 8 <= end) {
    const auto type = reader.take(4);
    const std::uint32_t length = reader.u32_little();
    const auto data = reader.take(length);
    if (std::memcmp(type.data(), "EXIF", 4) == 0) orientation = exif_orientation(data);
    if (length % 2 == 1 && reader.left() > 0) reader.skip(1);
  }
  return orientation;
}

}  // namespace

Decoded decode_webp(const Encoded& encoded) {
  const int orientation = check_container(encoded);
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(encoded.bytes.data(), encoded.bytes.size(), &features) != VP8_STATUS_OK) {
    refuse_damaged(encoded, "its header cannot be read");
  }
  check_size(encoded, static_cast<std::uint64_t>(features.width),
             static_cast<std::uint64_t>(features.height));
  if (features.has_animation != 0) refuse_unsupported(encoded, "it is animated");
  Decoded decoded{.image = Image(features.height, features.width, 3), .orientation = orientation};
  const auto* done =
      WebPDecodeRGBInto(encoded.bytes.data(), encoded.bytes.size(), decoded.image.data(),
                        decoded.image.bytes(), static_cast<int>(decoded.image.row_bytes()));
  if (done == nullptr) refuse_damaged(encoded, "its pixels cannot be read");
  return decoded;
}

}  // namespace seam::stages::formats
