#include "template_stage.hpp"

#include <torch/types.h>

void TemplateStage::declare(seam::Declaration& d) {
  d.doc(
      "Normalises every image of a batch to mean 0 and standard deviation 1 over its pixels and "
      "channels.");
  d.parameter("epsilon", epsilon_, "added to the standard deviation, for images of a single colour")
      .range(0, 1);
  // Contracts such as f32[N,3,H,W] are checked along the whole pipeline before anything runs.
  d.needs(seam::field::images);
  d.provides(seam::field::images);
}

void TemplateStage::process(seam::Packet& packet, seam::Context& context) {
  const seam::Tensor images = seam::on_device(packet, seam::field::images, context);
  const seam::Tensor mean = images.mean({1, 2, 3}, /*keepdim=*/true);
  const seam::Tensor deviation = (images - mean).square().mean({1, 2, 3}, true).sqrt();
  packet.set(seam::field::images, (images - mean) / (deviation + epsilon_));
}
