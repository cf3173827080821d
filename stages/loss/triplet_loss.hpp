/// The triplet loss as a plain function of tensors.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace seam::stages {

struct TripletLoss {
  torch::Tensor loss;            ///< scalar: mean over triplets of max(0, d²ap - d²an + margin)
  double positive_distance = 0;  ///< mean d²ap
  double negative_distance = 0;  ///< mean d²an
  double active = 0;             ///< share of triplets whose hinge is open
};

/// Rows of anchor, positive and negative: embeddings [T,E] each, in the same order of triplets.
/// Distances are squared Euclidean, as in the released code of SCCapsNet (the thesis' equation 12
/// leaves the hinge out).
[[nodiscard]] TripletLoss triplet_loss(const torch::Tensor& anchors, const torch::Tensor& positives,
                                       const torch::Tensor& negatives, double margin);

}  // namespace seam::stages
