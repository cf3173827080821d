/// Stage `loss.triplet`: positives must be closer than negatives by a margin.
#pragma once

#include <seam/loss.hpp>

#include "stages/loss/base/measured_loss.hpp"

namespace seam::stages {

/// The mean over triplets of max(0, d²ap - d²an + margin), the mean distances and the fraction of
/// triplets with a loss above 0. Rows of anchor, positive and negative: embeddings [T,E] each, in
/// the same order of triplets. Distances are squared Euclidean, as in the released code of
/// SCCapsNet (the thesis' equation 12 leaves the hinge out).
[[nodiscard]] MeasuredLoss triplet_loss(const Tensor& anchors, const Tensor& positives,
                                        const Tensor& negatives, double margin);

/// Of the same rows: the mean over triplets of log(1 + exp(cos(a,n) - cos(a,p))), and the mean
/// cosines. Lengths are clamped to at least 1e-8, so that zero vectors give finite values.
[[nodiscard]] MeasuredLoss cosine_triplet_loss(const Tensor& anchors, const Tensor& positives,
                                               const Tensor& negatives);

/// Rows of the batch by role, in order of their groups' first rows.
struct TripletRows {
  std::vector<std::int64_t> anchors;
  std::vector<std::int64_t> positives;
  std::vector<std::int64_t> negatives;
};

/// Throws seam::Error naming a group that is not a triplet, with exactly one row per role.
[[nodiscard]] TripletRows triplet_rows(const std::vector<std::int64_t>& groups,
                                       const std::vector<Role>& roles);

class Triplet final : public Loss {
 public:
  static constexpr std::string_view name = "loss.triplet";

  void declare(Declaration& d) override;

 private:
  enum class Form : std::uint8_t { hinge, cosine };

  Tensor compute(const Packet& packet, Context& context) override;

  Form form_ = Form::hinge;
  double margin_ = 2.0;
};

}  // namespace seam::stages
