#include "stages/loss/triplet.hpp"

#include <torch/types.h>

namespace seam::stages {

void Triplet::declare(Declaration& d) {
  d.doc(
      "Triplet loss: the mean of max(0, d²(anchor, positive) - d²(anchor, negative) + margin) over "
      "the triplets of a batch, with squared Euclidean distances of embeddings; or, with cosines, "
      "of log(1 + exp(cos(anchor, negative) - cos(anchor, positive))).");
  d.parameter("form", form_, "the loss of a triplet",
              {{"hinge", Form::hinge}, {"cosine", Form::cosine}});
  d.parameter("margin", margin_,
              "how much farther away the negative must be. Distances of unit vectors are 0 to 4. "
              "SCCapsNet's released code has 2")
      .range(0, 1e6)
      .only_with("form", "hinge");
  d.needs(field::embedding);
  d.needs(field::groups);
  d.needs(field::roles).values({"anchor", "positive", "negative"});
  d.headline("loss", Better::lower);
  declare_loss(d);
}

Tensor Triplet::compute(const Packet& packet, Context& /*context*/) {
  const Tensor& embedding = packet.get(field::embedding);
  const TripletRows rows = triplet_rows(packet.get(field::groups), packet.get(field::roles));
  const auto select = [&](const std::vector<std::int64_t>& chosen) {
    return embedding.index_select(0, torch::tensor(chosen, torch::kInt64).to(embedding.device()));
  };
  const Tensor anchors = select(rows.anchors);
  const Tensor positives = select(rows.positives);
  const Tensor negatives = select(rows.negatives);
  const MeasuredLoss result = form_ == Form::cosine
                                  ? cosine_triplet_loss(anchors, positives, negatives)
                                  : triplet_loss(anchors, positives, negatives, margin_);
  for (const auto& [metric, value] : result.measured) measure(metric, value);
  return result.loss;
}

MeasuredLoss triplet_loss(const Tensor& anchors, const Tensor& positives, const Tensor& negatives,
                          double margin) {
  const Tensor positive = (anchors - positives).square().sum(1);
  const Tensor negative = (anchors - negatives).square().sum(1);
  const Tensor hinge = (positive - negative + margin).clamp_min(0);
  return {hinge.mean(),
          {{"positive_distance", positive.detach().mean()},
           {"negative_distance", negative.detach().mean()},
           {"active", (hinge.detach() > 0).to(torch::kFloat64).mean()}}};
}

MeasuredLoss cosine_triplet_loss(const Tensor& anchors, const Tensor& positives,
                                 const Tensor& negatives) {
  const auto unit = [](const Tensor& x) {
    constexpr double shortest = 1e-16;  // squared
    return x * torch::rsqrt(x.square().sum(1, true).clamp_min(shortest));
  };
  const Tensor anchor = unit(anchors);
  const Tensor positive = (anchor * unit(positives)).sum(1);
  const Tensor negative = (anchor * unit(negatives)).sum(1);
  return {torch::softplus(negative - positive).mean(),
          {{"positive_cosine", positive.detach().mean()},
           {"negative_cosine", negative.detach().mean()}}};
}

TripletRows triplet_rows(const std::vector<std::int64_t>& groups, const std::vector<Role>& roles) {
  // Ordered by first rows, so that the sum over triplets does not depend on the order of a map.
  std::map<std::int64_t, std::size_t> position;
  std::vector<std::array<std::int64_t, 3>> triplets;
  for (std::size_t row = 0; row < groups.size(); ++row) {
    const auto [found, fresh] = position.emplace(groups[row], triplets.size());
    if (fresh) triplets.push_back({-1, -1, -1});
    const std::string group = "group " + std::to_string(groups[row]);
    if (roles[row] == Role::single) {
      throw Error(group + " contains an image without a role; put a triplet sampler into the flow",
                  Fault::configuration);
    }
    std::int64_t& place = triplets[found->second][static_cast<std::size_t>(roles[row]) - 1];
    if (place >= 0) throw Error(group + " contains two images with the same role", Fault::internal);
    place = static_cast<std::int64_t>(row);
  }
  TripletRows rows;
  for (const auto& [group, at] : position) {
    for (const std::int64_t row : triplets[at]) {
      if (row < 0) {
        throw Error("group " + std::to_string(group) +
                    " lacks an image; the sampler must set group_size = 3, so that `batch` drops "
                    "incomplete groups");
      }
    }
  }
  for (const auto& triplet : triplets) {
    rows.anchors.push_back(triplet[0]);
    rows.positives.push_back(triplet[1]);
    rows.negatives.push_back(triplet[2]);
  }
  return rows;
}

}  // namespace seam::stages
