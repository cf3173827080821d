#include "stages/loss/cross_entropy.hpp"

#include <torch/types.h>

namespace seam::stages {

void CrossEntropy::declare(Declaration& d) {
  d.doc(
      "Cross entropy between the softmax of a network's logits and the category, or the item, of "
      "each image; averaged over a batch.");
  d.parameter("from", from_, "field used as logits",
              {{"logits", From::logits}, {"class_lengths", From::class_lengths}});
  d.parameter("label_smoothing", smoothing_,
              "fraction of the target spread evenly over all classes")
      .range(0, 0.999);
  d.parameter("temperature", temperature_,
              "divides the logits; capsule lengths are between 0 and 1 and need a small "
              "temperature, such as 0.1")
      .range(1e-6, 1e6);
  d.needs(field());
  labels_.declare(d);
  d.headline("loss", Better::lower);
  declare_loss(d);
}

const Field<Tensor>& CrossEntropy::field() const {
  return from_ == From::logits ? field::logits : field::class_lengths;
}

Tensor CrossEntropy::compute(const Packet& packet, Context& context) {
  const Tensor& logits = packet.get(field());
  const Tensor labels =
      torch::tensor(labels_.of(packet, logits.size(1), context), torch::kInt64).to(logits.device());
  measure("accuracy", (logits.detach().argmax(1) == labels).to(torch::kFloat32).mean());
  return cross_entropy(temperature_ == 1 ? logits : logits / temperature_, labels, smoothing_);
}

void CrossEntropy::batch_accepted() {
  Loss::batch_accepted();
  labels_.accept();
}

}  // namespace seam::stages
