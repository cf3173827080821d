#include "template_stage.hpp"

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("Emits batches of uniform noise from 0 to 1, the same for the same seed and epoch.");
  d.parameter("batches", batches_, "how many").range(1, 1000000);
  d.parameter("size", size_, "images per batch").range(1, 65536);
  d.parameter("side", side_, "height and width").range(1, 4096).unit("px");
  // Contracts such as f32[N,3,H,W] are checked along the whole pipeline before anything runs.
  d.provides(seam::field::images);
}

void TemplateStage::begin(seam::Context& /*context*/) {
  next_ = 0;  // each run of a flow gets all batches
}

seam::More TemplateStage::produce(seam::Emitter& emitter, seam::Context& context) {
  // One packet per call: the host calls again when the flow has capacity.
  seam::Random random = context.random(static_cast<std::uint64_t>(next_));
  seam::Tensor images = torch::empty({size_, 3, side_, side_});
  float* values = images.data_ptr<float>();
  for (std::int64_t at = 0; at < images.numel(); ++at) {
    values[at] = static_cast<float>(random.uniform());
  }
  // The origin identifies this packet in messages: a list, a line in it, an item.
  seam::Packet packet({nullptr, 0, "noise " + std::to_string(next_)});
  packet.set(seam::field::images, std::move(images));
  emitter.emit(std::move(packet));
  return ++next_ < batches_ ? seam::More::yes : seam::More::no;
}
