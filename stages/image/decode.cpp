#include "stages/image/decode.hpp"

#include <filesystem>
#include <vector>

#include "stages/image/decode_image.hpp"
#include "stages/image/read_file.hpp"

namespace seam::stages {

void Decode::declare(Declaration& d) {
  d.doc(
      "Reads a picture file and decodes it to RGB. The content decides the format, the camera's "
      "orientation is applied, and a file that is cut short or damaged is an error, never a "
      "picture that is grey in parts.");
  d.parameter("max_pixels", max_pixels_, "largest picture to decode, checked before decoding")
      .at_least(1)
      .unit("pixels");
  d.needs(field::path).doc("the file to read");
  d.provides(field::image).doc("its pixels, upright, 8-bit RGB");
}

void Decode::process(Packet& packet, Context& /*context*/) const {
  const std::filesystem::path& path = packet.get(field::path);
  const std::vector<std::uint8_t> bytes = read_file(path);
  packet.set(field::image, decode_image(bytes, path.string(),
                                        {.max_pixels = static_cast<std::uint64_t>(max_pixels_)}));
}

}  // namespace seam::stages
