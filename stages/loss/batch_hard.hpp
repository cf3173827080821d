/// Stage `loss.batch_hard`: the hardest triplets within a batch.
///
///     anchor ──► its farthest positive, or each, and its nearest negative ──► triplet loss
///
/// Hermans, Beyer, Leibe, "In Defense of the Triplet Loss for Person Re-Identification",
/// arXiv:1703.07737, 2017, equation 5.
#pragma once

#include "stages/loss/base/batch_loss.hpp"

namespace seam::stages {

/// The function of x = d(anchor, positive) - d(anchor, negative) that is the loss.
enum class TripletForm : std::uint8_t {
  hinge,      ///< max(0, margin + x)
  soft_plus,  ///< log(1 + exp(x)): the soft margin of Hermans et al.
};

enum class PairDistance : std::uint8_t { euclidean, squared };

/// The positives of an anchor.
enum class Positives : std::uint8_t {
  hardest,  ///< the farthest: batch-hard
  all,      ///< a triplet with each of them
};

/// Which images of other items may be an anchor's negative.
enum class Negatives : std::uint8_t { any, other_category, same_category };

/// Rows of a batch: anchor i with a positive and its hardest negative.
struct HardTriplets {
  std::vector<std::int64_t> anchors;
  std::vector<std::int64_t> positives;
  std::vector<std::int64_t> negatives;
  std::int64_t without_positive = 0;  ///< rows whose item no other row shows
  std::int64_t without_negative = 0;  ///< rows with a positive, but no negative
};

/// The rule for negatives and the rows' categories that it needs.
struct NegativeChoice {
  Negatives rule = Negatives::any;
  std::vector<std::int64_t> categories = {};
};

/// `distances` [N,N] on the CPU, float32 or float64; rows of one label are positives of each other.
/// A row is an anchor if it has a positive and a negative by the rule; of rows at equal distances
/// the first one is used.
[[nodiscard]] HardTriplets hard_triplets(const Tensor& distances,
                                         const std::vector<std::int64_t>& labels,
                                         Positives positives = Positives::hardest,
                                         const NegativeChoice& choice = {});

/// Distances of rows of two equally long [T,E], with a gradient; Euclidean ones are at least 1e-6,
/// where the root's slope would be infinite.
[[nodiscard]] Tensor row_distances(const Tensor& a, const Tensor& b, PairDistance distance);

class BatchHard final : public BatchLoss {
 public:
  static constexpr std::string_view name = "loss.batch_hard";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  MeasuredLoss of(const Packet& packet, const std::vector<std::int64_t>& labels) override;

  TripletForm form_ = TripletForm::hinge;
  std::optional<double> margin_;
  PairDistance distance_ = PairDistance::euclidean;
  Positives positives_ = Positives::hardest;
  Negatives negatives_ = Negatives::any;
};

}  // namespace seam::stages
