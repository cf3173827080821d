#include "template_stage.hpp"

#include <torch/types.h>

#include <string>
#include <utility>

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("Joins several batches into one.");
  d.parameter("batches", batches_, "how many").range(1, 65536);
  d.replaces_packets();  // each emitted packet replaces several and has only these fields:
  // Contracts such as f32[N,3,H,W] are checked along the whole pipeline before anything runs.
  d.needs(seam::field::images);
  d.provides(seam::field::images);
  d.provides(seam::field::origins).doc("of the packets it was made from");
}

void TemplateStage::begin(seam::Context& /*context*/) {
  held_.clear();
  origins_.clear();
}

void TemplateStage::process(seam::Packet packet, seam::Emitter& emitter,
                            seam::Context& /*context*/) {
  held_.push_back(packet.get(seam::field::images));
  origins_.push_back(packet.origin());
  if (held_.size() == batches_) send(emitter);
}

seam::More TemplateStage::end(seam::Emitter& emitter, seam::Context& /*context*/) {
  if (!held_.empty()) send(emitter);
  return seam::More::no;
}

void TemplateStage::send(seam::Emitter& emitter) {
  // The origin identifies this packet in messages.
  seam::Packet packet({nullptr, 0, std::to_string(held_.size()) + " batches"});
  packet.set(seam::field::images, torch::cat(std::exchange(held_, {})));
  packet.set(seam::field::origins, std::exchange(origins_, {}));
  emitter.emit(std::move(packet));
}
