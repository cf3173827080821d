#include "stages/baseline/hsv_histogram.hpp"

#include <algorithm>
#include <cmath>

#include "stages/picture_paths.hpp"

namespace seam::stages {
namespace {

/// The byte that `batch` converted to the value.
std::uint8_t byte_of(float value, const Packet& packet, std::int64_t row) {
  if (!(value >= 0.F && value <= 1.F)) {
    throw Error(row_name(packet, static_cast<std::size_t>(row)) + " has a pixel value of " +
                    std::to_string(value) +
                    ", but a colour histogram needs values from 0 to 1; use a batch without `mean` "
                    "and `deviation`",
                Fault::configuration);
  }
  return static_cast<std::uint8_t>(std::lround(255.F * value));
}

}  // namespace

std::int64_t hsv_bin(const std::array<std::uint8_t, 3>& rgb, const HsvBins& bins) {
  const std::int64_t red = rgb[0];
  const std::int64_t green = rgb[1];
  const std::int64_t blue = rgb[2];
  const std::int64_t value = std::max({red, green, blue});
  const std::int64_t chroma = value - std::min({red, green, blue});
  std::int64_t hue = 0;  // scaled so that 6 * chroma is the whole circle
  if (chroma > 0) {
    if (value == red) {
      hue = green - blue;
    } else if (value == green) {
      hue = 2 * chroma + blue - red;
    } else {
      hue = 4 * chroma + red - green;
    }
    if (hue < 0) hue += 6 * chroma;
  }
  const auto range = [](std::int64_t part, std::int64_t whole, std::int64_t count) {
    return whole == 0 ? 0 : std::min(count * part / whole, count - 1);
  };
  return (range(hue, 6 * chroma, bins.hues) * bins.saturations +
          range(chroma, value, bins.saturations)) *
             bins.values +
         range(value, 255, bins.values);
}

void HsvHistogram::declare(Declaration& d) {
  d.doc(
      "Uses the HSV colour histogram of each image as its embedding: a baseline without training. "
      "A trained model that does not retrieve better has learned nothing but colours.");
  d.parameter("hues", bins_.hues, "number of ranges of the hue").range(1, 360);
  d.parameter("saturations", bins_.saturations, "number of ranges of the saturation").range(1, 256);
  d.parameter("values", bins_.values,
              "number of ranges of the value, the maximum of red, green and blue")
      .range(1, 256);
  d.parameter("scale", scale_,
              "root: square roots of the fractions, a vector of length 1, so that distances rank "
              "images like the Bhattacharyya coefficient of their histograms; share: the "
              "fractions, whose sum is 1",
              {{"root", Scale::root}, {"share", Scale::share}});
  d.needs(field::images).doc("values from 0 to 1: a batch without `mean` and `deviation`");
  d.accepts(field::origins).doc("to name a rejected image in errors");
  d.provides(field::embedding).contract("f32[N," + std::to_string(bins_.count()) + "]");
}

void HsvHistogram::process(Packet& packet, Context& context) {
  const Tensor images = on_host(packet.get(field::images));
  const std::int64_t rows = images.size(0);
  const std::int64_t pixels = images.size(2) * images.size(3);
  if (rows > 0 && pixels == 0) throw Error("an image without pixels has no histogram");
  Tensor embedding = torch::zeros({rows, bins_.count()});
  std::vector<std::int64_t> counts(static_cast<std::size_t>(bins_.count()));
  for (std::int64_t row = 0; row < rows; ++row) {
    std::fill(counts.begin(), counts.end(), 0);
    const float* planes = images.data_ptr<float>() + row * 3 * pixels;
    for (std::int64_t at = 0; at < pixels; ++at) {
      const std::array rgb{byte_of(planes[at], packet, row),
                           byte_of(planes[pixels + at], packet, row),
                           byte_of(planes[2 * pixels + at], packet, row)};
      ++counts[static_cast<std::size_t>(hsv_bin(rgb, bins_))];
    }
    float* out = embedding.data_ptr<float>() + row * bins_.count();
    for (const std::int64_t count : counts) {
      const double share = static_cast<double>(count) / static_cast<double>(pixels);
      *out++ = static_cast<float>(scale_ == Scale::root ? std::sqrt(share) : share);
    }
  }
  packet.set(field::embedding, embedding.to(device_of(context)));
}

}  // namespace seam::stages
