#include "stages/baseline/pixels.hpp"

#include <algorithm>
#include <cmath>

namespace seam::stages {

void Pixels::declare(Declaration& d) {
  d.doc(
      "Uses the pixels of each image as its embedding: a baseline without training. A trained "
      "model that does not retrieve better has learned nothing. `image.resize` determines the "
      "number of pixels.");
  d.parameter("centred", centred_,
              "subtract the mean of all values of the image, so that brightness has no effect; "
              "with unit_length, distances rank images in the same order as correlation");
  d.parameter("unit_length", unit_length_,
              "scale to length 1, so that contrast has no effect; an image without contrast gets "
              "equal elements");
  d.needs(field::images);
  d.provides(field::embedding);
}

void Pixels::process(Packet& packet, Context& context) {
  const Tensor images = on_host(packet.get(field::images));
  const std::int64_t rows = images.size(0);
  const std::int64_t width = images.size(1) * images.size(2) * images.size(3);
  Tensor embedding = images.reshape({rows, width}).clone();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::span<float> values(embedding.data_ptr<float>() + row * width,
                                  static_cast<std::size_t>(width));
    if (centred_) centre(values);
    if (unit_length_) scale_to_unit_length(values);
  }
  packet.set(field::embedding, embedding.to(device_of(context)));
}

void centre(std::span<float> values) {
  if (values.empty()) return;
  double sum = 0;
  for (const float value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (float& value : values) value = static_cast<float>(value - mean);
}

void scale_to_unit_length(std::span<float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  // The rounding errors of an image of one colour have no meaningful direction either; 8-bit pixels
  // that differ at all give a much larger length.
  constexpr double least = 1e-6;
  const double length = std::sqrt(squares);
  const double root = std::sqrt(static_cast<double>(values.size()));
  if (!(length > least * root)) {
    if (std::isnan(length)) return;  // the index reports it
    std::fill(values.begin(), values.end(), static_cast<float>(1 / root));
    return;
  }
  for (float& value : values) value = static_cast<float>(value / length);
}

}  // namespace seam::stages
