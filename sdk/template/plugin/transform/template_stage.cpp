#include "template_stage.hpp"

#include <cstdint>
#include <numeric>
#include <span>

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("Measures how bright a picture is: the mean of its values, 0 for black, 255 for white.");
  d.parameter("least", least_, "drop pictures that are darker").range(0, 255);
  d.needs(seam::field::image);
  d.provides(brightness).doc("the mean over all pixels and channels, 0 to 255");
}

void TemplateStage::process(seam::Packet& packet, seam::Context& context) const {
  const std::span<const std::uint8_t> values = packet.get(seam::field::image).pixels();
  // The message names the stage, the picture and the list that it came from by itself.
  if (values.empty()) throw seam::Error("the picture has no pixels");
  const auto sum = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  packet.set(brightness, static_cast<double>(sum) / static_cast<double>(values.size()));
  if (packet.get(brightness) < least_) context.drop("too dark");
}
