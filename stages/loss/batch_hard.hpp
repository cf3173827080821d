/// Stage `loss.batch_hard`: the triplets that are hardest within a batch.
///
///     anchor ──► its furthest positive, its nearest negative ──► triplet loss
///
/// Hermans, Beyer, Leibe, "In Defense of the Triplet Loss for Person Re-Identification",
/// arXiv:1703.07737, 2017, equation 5.
#pragma once

#include <seam/loss.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

enum class PairDistance : std::uint8_t { euclidean, squared };

/// Rows of a batch: anchor i with its hardest positive and negative.
struct HardTriplets {
  std::vector<std::int64_t> anchors;
  std::vector<std::int64_t> positives;
  std::vector<std::int64_t> negatives;
  std::int64_t without_positive = 0;  ///< rows whose item no other row shows
};

/// `distances` [N,N] on the CPU, float32 or float64; rows of one label are positives of each other.
/// A row is an anchor where it has a positive and a negative; of equal distances the first row
/// counts.
[[nodiscard]] HardTriplets hard_triplets(const Tensor& distances,
                                         const std::vector<std::int64_t>& labels);

/// Distances of rows of two equally long [T,E], with a gradient; Euclidean ones are at least 1e-6,
/// where the root's slope would be infinite.
[[nodiscard]] Tensor row_distances(const Tensor& a, const Tensor& b, PairDistance distance);

class BatchHard final : public Loss {
 public:
  static constexpr std::string_view name = "loss.batch_hard";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  /// What turns d(anchor, positive) - d(anchor, negative) into a loss.
  enum class Form : std::uint8_t {
    hinge,      ///< max(0, margin + x)
    soft_plus,  ///< log(1 + exp(x)): Hermans' soft margin
  };

  Tensor compute(const Packet& packet, Context& context) override;

  Form form_ = Form::hinge;
  std::optional<double> margin_;
  PairDistance distance_ = PairDistance::euclidean;
};

}  // namespace seam::stages
