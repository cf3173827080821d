#include "stages/loss/batch_hard.hpp"

#include <torch/nn/functional/activation.h>
#include <torch/types.h>

#include "stages/loss/base/batch_pairs.hpp"

namespace seam::stages {
namespace {

constexpr double usual_margin = 0.2;  // the best of those that Hermans et al. tried

Tensor selected_rows(const Tensor& matrix, const Tensor& rows) {
  return matrix.index_select(0, rows.to(matrix.device()));
}
Tensor selected_rows(const Tensor& matrix, const std::vector<std::int64_t>& rows) {
  return selected_rows(matrix, torch::tensor(rows, torch::kInt64));
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

/// Which triplets are of the kind, by d(anchor, positive) - d(anchor, negative).
Tensor are_of(TripletKind kind, const Tensor& excess, double margin) {
  switch (kind) {
    case TripletKind::all:
      return excess >= -margin;
    case TripletKind::hard:
      return excess >= 0;
    case TripletKind::semihard:
      return (excess < 0).logical_and(excess >= -margin);
    case TripletKind::easy:
      return excess < -margin;
    case TripletKind::hardest:
      break;
  }
  throw Error("the hardest triplets are not a kind of all", Fault::internal);
}

/// Row by row first: the sum then does not depend on the number of threads.
double sum_of(const Tensor& values) {
  return values.sum(1).sum().item<double>();
}

}  // namespace

void BatchHard::declare(Declaration& d) {
  d.doc(
      "Batch-hard triplet loss (Hermans et al. 2017): each image of a batch is an anchor, with the "
      "farthest image of its item and the nearest image of a different item. Averaged over "
      "triplets.");
  d.parameter("form", form_, "function applied to d(anchor, positive) - d(anchor, negative)",
              {{"hinge", TripletForm::hinge}, {"soft_plus", TripletForm::soft_plus}});
  d.parameter(
      "type_of_triplets", kind_,
      "the hardest triplet of each anchor, or all triplets whose negative is: farther than the "
      "positive by at most the margin, hard ones included (all); at most as far (hard); farther, "
      "by at most the margin (semihard); farther by more than the margin (easy)",
      {{"hardest", TripletKind::hardest},
       {"all", TripletKind::all},
       {"hard", TripletKind::hard},
       {"semihard", TripletKind::semihard},
       {"easy", TripletKind::easy}});
  d.parameter("margin", margin_,
              "how much farther away the negative must be; default: 0.2. With soft_plus it is only "
              "used to select all, semihard and easy triplets")
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
  const bool without_margin = kind_ == TripletKind::hardest || kind_ == TripletKind::hard;
  if (form_ == TripletForm::soft_plus && margin_ && without_margin) {
    throw Error(
        "`margin` has no effect with `form = \"soft_plus\"`; remove it, or choose \"hinge\"",
        Fault::configuration);
  }
  if (positives_ == Positives::all && kind_ != TripletKind::hardest) {
    throw Error(
        "`positives` has no effect with this `type_of_triplets`, which uses triplets with any "
        "positive; remove one of them",
        Fault::configuration);
  }
  if (negatives_ != Negatives::any && kind_ != TripletKind::hardest) {
    throw Error(
        "`negatives` has no effect with this `type_of_triplets`, which uses triplets with any "
        "negative; remove one of them",
        Fault::configuration);
  }
  if (form_ == TripletForm::hinge && kind_ == TripletKind::easy) {
    throw Error(
        "easy triplets have no loss with `form = \"hinge\"`, so nothing would be trained; choose "
        "\"soft_plus\" or a different `type_of_triplets`",
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
  if (kind_ != TripletKind::hardest) return {all_of_kind(embedding, distances, labels)};
  return {
      hardest(embedding, distances, labels, negative_choice(negatives_, packet, labels.size()))};
}

Tensor BatchHard::hardest(const Tensor& embedding, const Tensor& distances,
                          const std::vector<std::int64_t>& labels, const NegativeChoice& choice) {
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
  const double margin = form_ == TripletForm::hinge ? margin_.value_or(usual_margin) : 0;
  measure("positive_distance", positive.detach().mean());
  measure("negative_distance", negative.detach().mean());
  measure("active", (excess.detach() + margin > 0).to(torch::kFloat32).mean());
  measure("without_positive", static_cast<double>(triplets.without_positive));
  if (choice.rule != Negatives::any) {
    measure("without_negative", static_cast<double>(triplets.without_negative));
  }
  return form_ == TripletForm::hinge ? (excess + margin).clamp_min(0).mean()
                                     : torch::nn::functional::softplus(excess).mean();
}

/// N images have up to N³ triplets, so they are made for one anchor at a time. Given the triplets,
/// the loss has one slope per pair of images; a term with the value 0 carries the gradient.
Tensor BatchHard::all_of_kind(const Tensor& embedding, const Tensor& distances,
                              const std::vector<std::int64_t>& labels) {
  const double margin = margin_.value_or(usual_margin);
  const bool hinge = form_ == TripletForm::hinge;
  Tensor wide = distances.to(torch::kFloat64);
  if (distance_ == PairDistance::squared) wide = wide.square();
  const BatchPairs pairs = pairs_of_batch(labels, torch::kCPU);
  Tensor slopes = torch::zeros_like(wide);
  double triplets = 0;
  double active = 0;
  double positive_distance = 0;
  double negative_distance = 0;
  double loss = 0;
  for (std::int64_t anchor = 0; anchor < wide.size(0); ++anchor) {
    const Tensor positives = pairs.positive[anchor].nonzero().squeeze(1);
    const Tensor negatives = pairs.negative[anchor].nonzero().squeeze(1);
    const Tensor near = wide[anchor].index_select(0, positives).unsqueeze(1);
    const Tensor far = wide[anchor].index_select(0, negatives).unsqueeze(0);
    const Tensor excess = near - far;
    const Tensor chosen = are_of(kind_, excess, margin).to(torch::kFloat64);
    const Tensor unmet = (excess + (hinge ? margin : 0) > 0).to(torch::kFloat64) * chosen;
    constexpr double linear_from = 40;  // log(1 + exp(x)) is x in double precision
    triplets += sum_of(chosen);
    active += sum_of(unmet);
    positive_distance += sum_of(near * chosen);
    negative_distance += sum_of(far * chosen);
    loss += sum_of(hinge ? (excess + margin) * unmet
                         : torch::softplus(excess, 1, linear_from) * chosen);
    const Tensor slope = hinge ? unmet : excess.sigmoid() * chosen;
    slopes[anchor].index_add_(0, positives, slope.sum(1));
    slopes[anchor].index_add_(0, negatives, -slope.sum(0));
  }
  measure("triplets", triplets);
  measure("without_positive", (pairs.positive.sum(1) == 0).sum().to(torch::kFloat64));
  if (triplets > 0) {
    loss /= triplets;
    measure("positive_distance", positive_distance / triplets);
    measure("negative_distance", negative_distance / triplets);
    measure("active", active / triplets);
  }
  slopes = (slopes + slopes.t()).triu(1);
  const Tensor rows = slopes.nonzero();  // with a slope
  const Tensor moved = row_distances(selected_rows(embedding, rows.select(1, 0)),
                                     selected_rows(embedding, rows.select(1, 1)), distance_);
  const Tensor by_pair = (slopes.masked_select(slopes != 0) / triplets).to(moved.options());
  return (by_pair * (moved - moved.detach())).sum() + loss;
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
