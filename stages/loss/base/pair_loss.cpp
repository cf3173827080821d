#include "stages/loss/base/pair_loss.hpp"

#include <torch/types.h>

#include "stages/counted.hpp"
#include "stages/same.hpp"

namespace seam::stages {
namespace {

/// One row per pair.
struct Pairs {
  Tensor first;   ///< [P,E]
  Tensor second;  ///< [P,E]
  Tensor same;    ///< [P], 1 or 0 in the embeddings' type
};

constexpr const char* remedy = "; put a pair sampler into the flow: `batch` keeps its pairs whole";

std::string rows_text(std::int64_t first) {
  return "rows " + std::to_string(first) + " and " + std::to_string(first + 1);
}

/// Throws seam::Error for no rows, an odd number of them, labels other than 0 and 1, labels that
/// differ within a pair, and pairs whose rows belong to two groups: a pair that has lost an image
/// shifts all later ones. A row without a group (-1) only fits another one without a group.
Pairs pairs_of(const Packet& packet) {
  const Tensor& embedding = packet.get(field::embedding);
  const Tensor& same = packet.get(field::same);
  const std::int64_t rows = embedding.size(0);
  if (rows == 0) throw Error("the batch has no rows, and a mean over pairs needs one");
  if (same.dim() != 1 || same.size(0) != rows) {
    throw Error("`same` needs one number for each of the batch's " + std::to_string(rows) + " rows",
                Fault::internal);
  }
  if (rows % 2 != 0) {
    throw Error("the batch has " + std::to_string(rows) +
                " rows, which are not pairs: rows 2k and 2k+1 belong together" + remedy);
  }
  const Tensor plain = on_host(same, torch::kInt64);
  const auto* const labels = plain.data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < rows; ++row) {
    if (labels[row] == 0 || labels[row] == 1) continue;
    throw Error("`same` of row " + std::to_string(row) + " is " + std::to_string(labels[row]) +
                "; it must be 1 (the same item) or 0");
  }
  for (std::int64_t row = 0; row < rows; row += 2) {
    if (labels[row] != labels[row + 1]) {
      throw Error("`same` differs within the pair of " + rows_text(row) + ": " +
                  std::to_string(labels[row]) + " and " + std::to_string(labels[row + 1]) + remedy);
    }
    const auto at = static_cast<std::size_t>(row);
    if (!packet.has(field::groups)) continue;
    const std::vector<std::int64_t>& groups = packet.get(field::groups);
    if (groups[at] != groups[at + 1]) {
      throw Error(rows_text(row) + " should be a pair, but belong to groups " +
                  std::to_string(groups[at]) + " and " + std::to_string(groups[at + 1]) + remedy);
    }
  }
  const Tensor pairs = embedding.reshape({rows / 2, 2, -1});
  return {pairs.select(1, 0), pairs.select(1, 1),
          plain.view({rows / 2, 2}).select(1, 0).to(embedding.device(), embedding.scalar_type())};
}

}  // namespace

Tensor pair_distances(const Tensor& first, const Tensor& second, PairedDistance distance) {
  if (distance == PairedDistance::exp_manhattan) {
    return -torch::expm1(-(first - second).abs().sum(1));
  }
  const Tensor square = (first - second + pair_epsilon).square().sum(1);
  const Tensor zero = square.detach() == 0;  // where the root's slope is infinite
  return torch::sqrt(square.masked_fill(zero, 1)).masked_fill(zero, 0);
}

void PairLoss::declare_pairs(Declaration& d) {
  d.parameter(
      "distance", distance_,
      "distance between a pair's embeddings: Euclidean, or 1 - exp(-|x - y|₁) of the Manhattan "
      "distance, which is below 1",
      {{"euclidean", PairedDistance::euclidean}, {"exp_manhattan", PairedDistance::exp_manhattan}});
  d.needs(field::embedding);
  d.needs(field::same).doc("1 or 0, equal in rows 2k and 2k+1");
  d.accepts(field::groups).doc("to reject rows that are not a pair");
  d.headline("loss", Better::lower);
  declare_loss(d);
}

void PairLoss::check_distance(const std::string& parameter, double margin) const {
  if (distance_ == PairedDistance::euclidean) return;
  if (margin >= 1) {
    throw Error("`" + parameter + "` is " + text_of(margin) +
                    ", but with `distance = \"exp_manhattan\"` distances are below 1, and no pair "
                    "would ever be far enough apart; choose a margin below 1",
                Fault::configuration);
  }
}

Tensor PairLoss::compute(const Packet& packet, Context& /*context*/) {
  const Pairs pairs = pairs_of(packet);
  const Tensor distances = pair_distances(pairs.first, pairs.second, distance_);
  const Tensor known = distances.detach();
  measure_mean("matching_distance", known.masked_select(pairs.same == 1));
  measure_mean("non_matching_distance", known.masked_select(pairs.same == 0));
  const Tensor all = losses(distances, pairs.same);
  measure("active", (all.detach() > 0).to(torch::kFloat64).mean());
  return all.mean();
}

}  // namespace seam::stages
