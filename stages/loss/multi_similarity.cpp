#include "stages/loss/multi_similarity.hpp"

#include <cstdint>
#include <vector>

#include "stages/diverged.hpp"
#include "stages/loss/item_labels.hpp"

namespace seam::stages {

void MultiSimilarity::declare(Declaration& d) {
  d.doc(
      "Multi-similarity loss (Wang et al. 2019): for each row, mines the pairs within the batch "
      "that violate the ranking by more than `epsilon` and weights them by their own cosine "
      "similarity and those of the other pairs.");
  d.parameter("alpha", options_.alpha, "sharpness of the weights of positive pairs")
      .range(1e-6, 1e6);
  d.parameter("beta", options_.beta, "sharpness of the weights of negative pairs").range(1e-6, 1e6);
  d.parameter("lambda", options_.lambda,
              "similarity that positive pairs should exceed and negative pairs should stay below")
      .range(-1, 1);
  d.parameter("epsilon", options_.epsilon, "margin for mining").range(0, 2);
  d.needs(field::embedding);
  d.needs(field::items).doc("rows of one item are positives of each other");
  d.accepts(field::origins).doc("to name an image without an item");
  d.headline("loss", Better::lower);
  declare_loss(d);
}

Tensor MultiSimilarity::compute(const Packet& packet, Context& context) {
  const Tensor& embedding = packet.get(field::embedding);
  const std::vector<std::int64_t> labels = item_labels(
      packet.get(field::items), packet.has(field::origins) ? &packet.get(field::origins) : nullptr);
  check_pairs(labels);
  // In training the loss is NaN, and the optimizer rejects the batch without another wait for the
  // device.
  if (!context.training() && !torch::isfinite(embedding).all().item<bool>()) {
    throw Error(std::string("the embeddings of this batch are not finite; ") + diverged_remedy);
  }
  const MultiSimilarityLoss result = multi_similarity_loss(
      embedding, torch::tensor(labels, torch::kInt64).to(embedding.device()), options_);
  measure("positive_pairs", result.positive_pairs);
  measure("negative_pairs", result.negative_pairs);
  return result.loss;
}

}  // namespace seam::stages
