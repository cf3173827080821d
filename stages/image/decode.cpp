#include "stages/image/decode.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "stages/image/decode_image.hpp"
#include "stages/image/read_file.hpp"

namespace seam::stages {
namespace {

/// Gives every pixel its luma in all three channels: 0.299 red, 0.587 green, 0.114 blue, as JPEG's.
void take_colour_away(Image& image) {
  const std::span<std::uint8_t> pixels{image.data(), image.bytes()};
  for (std::size_t i = 0; i + 2 < pixels.size(); i += 3) {
    const std::uint32_t luma =
        (19595U * pixels[i] + 38470U * pixels[i + 1] + 7471U * pixels[i + 2] + 32768U) >> 16U;
    std::fill_n(pixels.begin() + static_cast<std::ptrdiff_t>(i), 3,
                static_cast<std::uint8_t>(luma));
  }
}

}  // namespace

void Decode::declare(Declaration& d) {
  d.doc(
      "Reads a picture file and decodes it to RGB. The content decides the format, the camera's "
      "orientation is applied, and a file that is cut short or damaged is an error, never a "
      "picture that is grey in parts.");
  d.parameter("max_pixels", max_pixels_, "largest picture to decode, checked before decoding")
      .at_least(1)
      .unit("pixels");
  d.parameter("colour", colour_, "grey: three equal channels, for what must not see colours",
              {{"rgb", Colour::rgb}, {"grey", Colour::grey}});
  d.needs(field::path).doc("the file to read");
  d.provides(field::image).doc("its pixels, upright, 8-bit RGB");
}

void Decode::process(Packet& packet, Context& /*context*/) const {
  const std::filesystem::path& path = packet.get(field::path);
  const std::vector<std::uint8_t> bytes = read_file(path);
  Image image =
      decode_image(bytes, path.string(), {.max_pixels = static_cast<std::uint64_t>(max_pixels_)});
  if (colour_ == Colour::grey) take_colour_away(image);
  packet.set(field::image, std::move(image));
}

}  // namespace seam::stages
