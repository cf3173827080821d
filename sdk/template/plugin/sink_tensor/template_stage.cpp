#include "template_stage.hpp"

#include <torch/types.h>

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("Reports the metric `brightness`: the mean over all images of a flow.");
  d.parameter("scale", scale_, "the value that counts as 1").range(0.001, 1000);
  // Contracts such as f32[N,3,H,W] are checked along the whole pipeline before anything runs.
  d.needs(seam::field::images);
}

void TemplateStage::begin(seam::Context& /*context*/) {
  total_ = 0;
  pictures_ = 0;
}

void TemplateStage::process(const seam::Packet& packet, seam::Context& /*context*/) {
  const seam::Tensor& images = packet.get(seam::field::images);
  total_ += images.mean({1, 2, 3}).sum().item<double>();
  pictures_ += images.size(0);
}

void TemplateStage::end(seam::Context& context) {
  if (pictures_ > 0) context.metric("brightness", total_ / scale_ / static_cast<double>(pictures_));
}
