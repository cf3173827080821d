#include "stages/loss/batch_hard.hpp"

#include <torch/nn/functional/activation.h>
#include <torch/types.h>

namespace seam::stages {
namespace {

Tensor selected_rows(const Tensor& matrix, const std::vector<std::int64_t>& rows) {
  return matrix.index_select(0, torch::tensor(rows, torch::kInt64).to(matrix.device()));
}

/// The categories of the rows, if the rule needs them.
NegativeChoice negative_choice(Negatives rule, const Packet& packet, std::size_t rows) {
  if (rule == Negatives::any) return {};
  if (!packet.has(field::categories)) {
    throw Error(
        "the batch has no categories, but `negatives` are chosen by them; use a data set with "
        "categories, or negatives = \"any\"",
        Fault::configuration);
  }
  const std::vector<std::int64_t>& categories = packet.get(field::categories);
  for (std::size_t row = 0; row < rows; ++row) {
    if (categories.at(row) >= 0) continue;
    throw Error("image " + std::to_string(row) +
                    " of the batch has no category, but `negatives` are chosen by categories",
                Fault::configuration);
  }
  return {rule, categories};
}

bool may_be_negative(const NegativeChoice& choice, std::size_t anchor, std::size_t other) {
  if (choice.rule == Negatives::any) return true;
  const bool same = choice.categories.at(anchor) == choice.categories.at(other);
  return same == (choice.rule == Negatives::same_category);
}

}  // namespace

void BatchHard::declare(Declaration& d) {
  d.doc(
      "Batch-hard triplet loss (Hermans et al. 2017): each image of a batch is an anchor, with the "
      "farthest image of its item and the nearest image of a different item. Averaged over "
      "triplets.");
  d.parameter("form", form_, "function applied to d(anchor, positive) - d(anchor, negative)",
              {{"hinge", TripletForm::hinge}, {"soft_plus", TripletForm::soft_plus}});
  d.parameter("margin", margin_,
              "how much farther away the negative must be, for form = \"hinge\"; default: 0.2")
      .range(0, 1e6);
  d.parameter("distance", distance_, "distance between embeddings",
              {{"euclidean", PairDistance::euclidean}, {"squared", PairDistance::squared}});
  d.parameter("positives", positives_,
              "positives of an anchor: only the farthest, or one triplet per positive, all with "
              "the nearest negative",
              {{"hardest", Positives::hardest}, {"all", Positives::all}});
  d.parameter("negatives", negatives_,
              "negative of an anchor: the nearest image of any other item, of an item in a "
              "different category (as in equation 13 of Kınlı 2019, within the batch), or of one "
              "in the same category",
              {{"any", Negatives::any},
               {"other_category", Negatives::other_category},
               {"same_category", Negatives::same_category}});
  d.accepts(field::categories).doc("needed if `negatives` are chosen by category");
  declare_batch_loss(d);
}

void BatchHard::open(Context& /*context*/) {
  if (form_ == TripletForm::soft_plus && margin_) {
    throw Error(
        "`margin` has no effect with `form = \"soft_plus\"`; remove it, or choose \"hinge\"",
        Fault::configuration);
  }
}

MeasuredLoss BatchHard::of(const Packet& packet, const std::vector<std::int64_t>& labels) {
  const Tensor& embedding = packet.get(field::embedding);
  // Mined without a gradient, and by differences, not by products of vectors: near images keep
  // their order whatever the number of threads.
  constexpr std::int64_t by_differences = 2;
  const Tensor plain = embedding.detach();
  const Tensor distances = torch::cdist(plain, plain, 2.0, by_differences).to(torch::kCPU);
  check_finite(distances);
  const NegativeChoice choice = negative_choice(negatives_, packet, labels.size());
  const HardTriplets triplets = hard_triplets(distances, labels, positives_, choice);
  if (triplets.anchors.empty()) {
    throw Error(
        std::string("no image of this batch has a positive and a negative of ") +
        (choice.rule == Negatives::same_category ? "the same" : "a different") +
        " category; draw batches of items of " +
        (choice.rule == Negatives::same_category ? "the same category" : "more categories") +
        " (`categories` of sampling.pk), or use negatives = \"any\"");
  }
  const Tensor anchors = selected_rows(embedding, triplets.anchors);
  const Tensor positive =
      row_distances(anchors, selected_rows(embedding, triplets.positives), distance_);
  const Tensor negative =
      row_distances(anchors, selected_rows(embedding, triplets.negatives), distance_);
  const Tensor excess = positive - negative;
  constexpr double usual_margin = 0.2;  // the best of those that Hermans et al. tried
  const double margin = form_ == TripletForm::hinge ? margin_.value_or(usual_margin) : 0;
  measure("positive_distance", positive.detach().mean());
  measure("negative_distance", negative.detach().mean());
  measure("active", (excess.detach() + margin > 0).to(torch::kFloat32).mean());
  measure("without_positive", static_cast<double>(triplets.without_positive));
  if (choice.rule != Negatives::any) {
    measure("without_negative", static_cast<double>(triplets.without_negative));
  }
  return {form_ == TripletForm::hinge ? (excess + margin).clamp_min(0).mean()
                                      : torch::nn::functional::softplus(excess).mean()};
}

HardTriplets hard_triplets(const Tensor& distances, const std::vector<std::int64_t>& labels,
                           Positives positives, const NegativeChoice& choice) {
  const Tensor wide = distances.to(torch::kFloat64).contiguous();
  const auto values = wide.accessor<double, 2>();
  const auto rows = static_cast<std::int64_t>(labels.size());
  HardTriplets triplets;
  for (std::int64_t anchor = 0; anchor < rows; ++anchor) {
    std::vector<std::int64_t> chosen;
    std::int64_t negative = -1;
    for (std::int64_t other = 0; other < rows; ++other) {
      if (other == anchor) continue;
      if (labels[static_cast<std::size_t>(other)] == labels[static_cast<std::size_t>(anchor)]) {
        if (positives == Positives::all || chosen.empty()) {
          chosen.push_back(other);
        } else if (values[anchor][other] > values[anchor][chosen[0]]) {
          chosen[0] = other;
        }
      } else if (may_be_negative(choice, static_cast<std::size_t>(anchor),
                                 static_cast<std::size_t>(other)) &&
                 (negative < 0 || values[anchor][other] < values[anchor][negative])) {
        negative = other;
      }
    }
    if (chosen.empty()) ++triplets.without_positive;
    if (negative < 0) {
      if (!chosen.empty()) ++triplets.without_negative;
      continue;
    }
    for (const std::int64_t positive : chosen) {
      triplets.anchors.push_back(anchor);
      triplets.positives.push_back(positive);
      triplets.negatives.push_back(negative);
    }
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
