#include "stages/loss/supervised_contrastive.hpp"

#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stages/diverged.hpp"
#include "stages/loss/item_labels.hpp"
#include "stages/loss/supervised_contrastive_loss.hpp"

namespace seam::stages {

void SupervisedContrastive::declare(Declaration& d) {
  d.doc(
      "Supervised contrastive loss (Khosla et al. 2020): among all other images of a batch, those "
      "of the same item should be the similar ones, by a softmax of cosines. Averaged over images "
      "with a positive.");
  d.parameter("temperature", temperature_,
              "temperature that divides the cosines; small values emphasise the nearest images")
      .range(1e-3, 1e3);
  d.needs(field::embedding);
  d.needs(field::items).doc("rows of one item are positives of each other");
  d.accepts(field::origins).doc("to name an image without an item");
  d.headline("loss", Better::lower);
  declare_loss(d);
}

Tensor SupervisedContrastive::compute(const Packet& packet, Context& context) {
  const Tensor& embedding = packet.get(field::embedding);
  const std::vector<std::int64_t> labels = item_labels(
      packet.get(field::items), packet.has(field::origins) ? &packet.get(field::origins) : nullptr);
  check_pairs(labels);
  // In training the loss is NaN, and the optimizer rejects the batch without another wait for the
  // device.
  if (!context.training() && !torch::isfinite(embedding).all().item<bool>()) {
    throw Error(std::string("the embeddings of this batch are not finite; ") + diverged_remedy);
  }
  std::vector<std::int64_t> pictures(labels.size());  // of each item
  for (const std::int64_t label : labels) ++pictures[static_cast<std::size_t>(label)];
  measure("without_positive", static_cast<double>(std::count(pictures.begin(), pictures.end(), 1)));
  return supervised_contrastive_loss(
      embedding, torch::tensor(labels, torch::kInt64).to(embedding.device()), temperature_);
}

}  // namespace seam::stages
