#include "template_stage.hpp"

#include <cstdint>
#include <numeric>
#include <span>

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("Measures the brightness of an image: the mean of its values, 0 for black, 255 for white.");
  d.parameter("least", least_, "drop darker images").range(0, 255);
  d.needs(seam::field::image);
  d.provides(brightness).doc("the mean over all pixels and channels, 0 to 255");
}

void TemplateStage::process(seam::Packet& packet, seam::Context& context) const {
  const std::span<const std::uint8_t> values = packet.get(seam::field::image).pixels();
  // The host adds the stage, the image and its line in the list to the message.
  if (values.empty()) throw seam::Error("the image has no pixels");
  const auto sum = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  packet.set(brightness, static_cast<double>(sum) / static_cast<double>(values.size()));
  if (packet.get(brightness) < least_) context.drop("too dark");
}
