#include "stages/image/erase.hpp"

#include "stages/counted.hpp"
#include "stages/image/check_order.hpp"

namespace seam::stages {
namespace {

/// `next` returns the bytes, row by row.
template <class Next>
Image painted(const Image& image, const Region& region, const Next& next) {
  if (!has_region(image, region)) {
    throw std::invalid_argument("the region to erase is not inside the image");
  }
  Image result = image.clone();
  const auto channels = static_cast<std::size_t>(image.channels());
  const std::size_t first = static_cast<std::size_t>(region.left) * channels;
  const std::size_t count = static_cast<std::size_t>(region.width) * channels;
  for (int y = 0; y < region.height; ++y) {
    std::uint8_t* const row = result.row(region.top + y) + first;
    for (std::size_t i = 0; i < count; ++i) row[i] = next(i % channels);
  }
  return result;
}

}  // namespace

std::optional<Region> random_erased_region(const Image& image, const SideRanges& ranges,
                                           Random& random) {
  for (int attempt = 0; attempt < attempts_at_sides; ++attempt) {
    const auto [height, width] = draw_sides(image, ranges, random);
    if (height < 1 || height >= image.height() || width < 1 || width >= image.width()) continue;
    return random_region(image, static_cast<int>(height), static_cast<int>(width), random);
  }
  return std::nullopt;
}

Image erase_region(const Image& image, const Region& region, std::span<const std::uint8_t> value) {
  if (value.size() != 1 && value.size() != static_cast<std::size_t>(image.channels())) {
    throw std::invalid_argument("erasing takes one number, or one for each channel");
  }
  return painted(image, region,
                 [value](std::size_t channel) { return value[value.size() == 1 ? 0 : channel]; });
}

Image erase_with_noise(const Image& image, const Region& region, Random& random) {
  std::uint32_t bits = 0;
  unsigned left = 0;  // bytes of them
  return painted(image, region, [&](std::size_t /*channel*/) {
    if (left == 0) {
      bits = random.bits32();
      left = 4;
    }
    const auto byte = static_cast<std::uint8_t>(bits & 0xFFU);
    bits >>= 8U;
    --left;
    return byte;
  });
}

void Erase::declare(Declaration& d) {
  d.doc(
      "Random erasing: with the given probability, a random rectangle of the image is painted "
      "over. If none of ten random rectangles fits, the image is passed on unchanged.");
  d.parameter("probability", probability_, "probability of erasing a rectangle").range(0, 1);
  d.parameter("area_least", ranges_.area_least,
              "minimum fraction of the image area to erase (uniform)")
      .range(0.0001, 1);
  d.parameter("area_most", ranges_.area_most, "maximum fraction of the image area to erase")
      .range(0.0001, 1);
  d.parameter("aspect_least", ranges_.aspect_least,
              "minimum aspect ratio (height / width) of the rectangle, log-uniform")
      .range(0.01, 100);
  d.parameter("aspect_most", ranges_.aspect_most, "maximum aspect ratio of the rectangle")
      .range(0.01, 100);
  d.parameter("fill", fill_,
              "content of the rectangle: the colour `value`, or random noise, uniform in 0 to 255 "
              "for every channel of every pixel",
              {{"constant", Fill::constant}, {"random", Fill::random}});
  d.parameter("value", value_, "the colour: one number, or three (RGB)")
      .only_with("fill", "constant");
  d.needs(field::image).contract("u8[H,W,C]").doc("with 1 or 3 channels");
  d.provides(field::image).contract("u8[H,W,C]").values({"changed"});
}

void Erase::open(Context& /*context*/) {
  check_order(ranges_.area_least, ranges_.area_most, "area");
  check_order(ranges_.aspect_least, ranges_.aspect_most, "aspect");
  if (value_.size() != 1 && value_.size() != 3) {
    throw Error("`value` has " + counted(value_.size(), "number") +
                    "; accepted are one, or three: red, green and blue",
                Fault::configuration);
  }
}

void Erase::check_channels(const Image& image) const {
  const int channels = image.channels();
  if (channels != 1 && channels != 3) {
    throw Error("the image has " + std::to_string(channels) +
                " channels; image.erase accepts images with 1 or 3");
  }
  if (channels == 1 && value_.size() == 3) {
    throw Error(
        "the image has 1 channel, but `value` has three numbers: set one number for grey images");
  }
}

void Erase::process(Packet& packet, Context& context) const {
  const Image image = packet.get(field::image);
  check_channels(image);  // before anything is drawn: errors must not depend on chance
  Random random = context.random(packet);
  if (!random.coin(probability_)) return;
  const std::optional<Region> region = random_erased_region(image, ranges_, random);
  if (!region) return;
  packet.set(field::image, fill_ == Fill::random ? erase_with_noise(image, *region, random)
                                                 : erase_region(image, *region, value_));
}

}  // namespace seam::stages
