#include "template_stage.hpp"

#include <numeric>
#include <span>

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("Reports the metric `brightness`: the mean over all images of a flow.");
  d.parameter("scale", scale_, "the value that counts as 1").range(1, 255);
  d.needs(seam::field::image);
}

void TemplateStage::begin(seam::Context& /*context*/) {
  total_ = 0;
  pictures_ = 0;
}

void TemplateStage::process(const seam::Packet& packet, seam::Context& /*context*/) {
  const std::span<const std::uint8_t> values = packet.get(seam::field::image).pixels();
  // The host adds the stage, the image and its line in the list to the message.
  if (values.empty()) throw seam::Error("the image has no pixels");
  const auto sum = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  total_ += static_cast<double>(sum) / static_cast<double>(values.size());
  ++pictures_;
}

void TemplateStage::end(seam::Context& context) {
  if (pictures_ > 0) context.metric("brightness", total_ / scale_ / static_cast<double>(pictures_));
}
