#include "stages/loss/pair_loss.hpp"

#include <torch/types.h>

#include <seam/error.hpp>

#include "stages/loss/pairs.hpp"
#include "stages/same.hpp"

namespace seam::stages {

void PairLoss::declare_pairs(Declaration& d) {
  d.parameter(
      "distance", distance_,
      "distance between a pair's embeddings: Euclidean, or 1 - exp(-|x - y|₁) of the Manhattan "
      "distance, which is below 1",
      {{"euclidean", PairedDistance::euclidean}, {"exp_manhattan", PairedDistance::exp_manhattan}});
  d.parameter(
       "epsilon", epsilon_,
       "euclidean: added to each difference, as in PyTorch's pairwise_distance; default: 1e-6")
      .range(0, 1);
  d.needs(field::embedding);
  d.needs(field::same).doc("1 or 0, equal in rows 2k and 2k+1");
  d.accepts(field::groups).doc("to reject rows that are not a pair");
  d.headline("loss", Better::lower);
  declare_loss(d);
}

void PairLoss::check_distance() const {
  if (!epsilon_ || distance_ == PairedDistance::euclidean) return;
  throw Error("`epsilon` has no effect with `distance = \"exp_manhattan\"`; remove it",
              Fault::configuration);
}

Tensor PairLoss::compute(const Packet& packet, Context& /*context*/) {
  const Pairs pairs = pairs_of(packet.get(field::embedding), packet.get(field::same),
                               packet.has(field::groups) ? &packet.get(field::groups) : nullptr);
  const Tensor distances =
      pair_distances(pairs.first, pairs.second, distance_, epsilon_.value_or(pair_epsilon));
  const Tensor known = distances.detach();
  const Tensor matching = known.masked_select(pairs.same == 1);
  const Tensor other = known.masked_select(pairs.same == 0);
  if (matching.numel() > 0) measure("matching_distance", matching.mean());
  if (other.numel() > 0) measure("non_matching_distance", other.mean());
  const Tensor all = losses(distances, pairs.same);
  measure("active", (all.detach() > 0).to(torch::kFloat64).mean());
  return all.mean();
}

}  // namespace seam::stages
