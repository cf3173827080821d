/// All triplets of one kind in a batch, without a list of them: N images have up to N^3 triplets.
///
///     distances [N,N] ──► kind of each triplet ──► loss, and its slope by each pair's distance
///
/// Kinds are those of pytorch-metric-learning's TripletMarginMiner, by d(anchor, negative) -
/// d(anchor, positive).
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace seam::stages {

enum class TripletKind : std::uint8_t {
  hardest,   ///< one per anchor: its farthest positive and its nearest negative
  all,       ///< up to the margin: all that violate it
  hard,      ///< the negative is at most as far as the positive
  semihard,  ///< farther than the positive, by the margin at most
  easy,      ///< farther by more than the margin
};

/// The function of x = d(anchor, positive) - d(anchor, negative) that is the loss.
enum class TripletForm : std::uint8_t {
  hinge,      ///< max(0, margin + x)
  soft_plus,  ///< log(1 + exp(x)): the soft margin of Hermans et al.
};

/// The mean over triplets. Without any, all is zero.
struct BatchTriplets {
  double loss = 0;
  double positive_distance = 0;
  double negative_distance = 0;
  std::int64_t triplets = 0;
  std::int64_t active = 0;            ///< those with x > -margin (hinge) or x > 0
  std::int64_t without_positive = 0;  ///< rows whose item no other row shows
  /// The loss by the distance of each pair of rows: rows a < b with a slope other than 0.
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  std::vector<double> slopes;
};

/// `distances` f64[N,N] on the CPU; rows of one label are positives of each other. Any kind but
/// hardest. Sums in a fixed order: N^3 steps, N^2 values.
[[nodiscard]] BatchTriplets batch_triplets(const torch::Tensor& distances,
                                           const std::vector<std::int64_t>& labels,
                                           TripletKind kind, TripletForm form, double margin);

}  // namespace seam::stages
