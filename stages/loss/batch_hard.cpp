#include "stages/loss/batch_hard.hpp"

#include <torch/torch.h>

#include "stages/loss/item_labels.hpp"

namespace seam::stages {
namespace {

constexpr double usual_margin = 0.2;  // the best of those that Hermans et al. tried

}  // namespace

void BatchHard::declare(Declaration& d) {
  d.doc(
      "Batch-hard triplet loss (Hermans et al. 2017): each picture of a batch is an anchor, with "
      "the furthest picture of its item and the nearest of another item. The mean over anchors.");
  d.parameter("form", form_, "what makes a loss of d(anchor, positive) - d(anchor, negative)",
              {{"hinge", Form::hinge}, {"soft_plus", Form::soft_plus}});
  d.parameter("margin", margin_,
              "hinge: by how much the negative must be further, 0.2 if not set; soft_plus has none")
      .range(0, 1e6);
  d.parameter("distance", distance_, "of embeddings",
              {{"euclidean", PairDistance::euclidean}, {"squared", PairDistance::squared}});
  d.needs(field::embedding);
  d.needs(field::items).doc("rows of one item are positives of each other");
  d.accepts(field::origins).doc("to name a picture without an item");
  d.headline("loss", Better::lower);
  declare_loss(d);
}

void BatchHard::open(Context& /*context*/) {
  if (form_ == Form::soft_plus && margin_) {
    throw Error(
        "`margin` has no effect with `form = \"soft_plus\"`; remove it, or choose \"hinge\"",
        Fault::configuration);
  }
}

Tensor BatchHard::compute(const Packet& packet, Context& /*context*/) {
  const Tensor& embedding = packet.get(field::embedding);
  const std::vector<std::int64_t> labels = item_labels(
      packet.get(field::items), packet.has(field::origins) ? &packet.get(field::origins) : nullptr);
  check_pairs(labels);
  // Mined without a gradient and by differences, not by products of vectors: near pictures keep
  // their order, and no number of threads changes it.
  constexpr std::int64_t by_differences = 2;
  const Tensor plain = embedding.detach();
  const Tensor distances = torch::cdist(plain, plain, 2.0, by_differences).to(torch::kCPU);
  if (!torch::isfinite(distances).all().item<bool>()) {
    throw Error("the embeddings of this batch are not finite");
  }
  const HardTriplets triplets = hard_triplets(distances, labels);
  const auto select = [&](const std::vector<std::int64_t>& chosen) {
    return embedding.index_select(0, torch::tensor(chosen, torch::kInt64).to(embedding.device()));
  };
  const Tensor anchors = select(triplets.anchors);
  const Tensor positive = row_distances(anchors, select(triplets.positives), distance_);
  const Tensor negative = row_distances(anchors, select(triplets.negatives), distance_);
  const Tensor excess = positive - negative;
  const double margin = form_ == Form::hinge ? margin_.value_or(usual_margin) : 0;
  measure("positive_distance", positive.detach().mean());
  measure("negative_distance", negative.detach().mean());
  measure("active", (excess.detach() + margin > 0).to(torch::kFloat32).mean());
  measure("without_positive", static_cast<double>(triplets.without_positive));
  return form_ == Form::hinge ? (excess + margin).clamp_min(0).mean()
                              : torch::nn::functional::softplus(excess).mean();
}

HardTriplets hard_triplets(const Tensor& distances, const std::vector<std::int64_t>& labels) {
  const Tensor wide = distances.to(torch::kFloat64).contiguous();
  const auto values = wide.accessor<double, 2>();
  const auto rows = static_cast<std::int64_t>(labels.size());
  HardTriplets triplets;
  for (std::int64_t anchor = 0; anchor < rows; ++anchor) {
    std::int64_t positive = -1;
    std::int64_t negative = -1;
    for (std::int64_t other = 0; other < rows; ++other) {
      if (other == anchor) continue;
      if (labels[static_cast<std::size_t>(other)] == labels[static_cast<std::size_t>(anchor)]) {
        if (positive < 0 || values[anchor][other] > values[anchor][positive]) positive = other;
      } else if (negative < 0 || values[anchor][other] < values[anchor][negative]) {
        negative = other;
      }
    }
    if (positive < 0) ++triplets.without_positive;
    if (positive < 0 || negative < 0) continue;
    triplets.anchors.push_back(anchor);
    triplets.positives.push_back(positive);
    triplets.negatives.push_back(negative);
  }
  return triplets;
}

Tensor row_distances(const Tensor& a, const Tensor& b, PairDistance distance) {
  Tensor squared = (a - b).square().sum(1);
  if (distance == PairDistance::squared) return squared;
  constexpr double shortest = 1e-12;  // squared; its root is 1e-6
  return squared.clamp_min(shortest).sqrt();
}

}  // namespace seam::stages
