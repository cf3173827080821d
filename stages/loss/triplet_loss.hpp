/// The triplet loss as a plain function of tensors.
#pragma once

#include <torch/types.h>

namespace seam::stages {

/// Scalars; only the loss has a gradient.
struct TripletLoss {
  torch::Tensor loss;               ///< mean over triplets of max(0, d²ap - d²an + margin)
  torch::Tensor positive_distance;  ///< mean d²ap
  torch::Tensor negative_distance;  ///< mean d²an
  torch::Tensor active;             ///< fraction of triplets with a loss above 0
};

/// Rows of anchor, positive and negative: embeddings [T,E] each, in the same order of triplets.
/// Distances are squared Euclidean, as in the released code of SCCapsNet (the thesis' equation 12
/// leaves the hinge out).
[[nodiscard]] TripletLoss triplet_loss(const torch::Tensor& anchors, const torch::Tensor& positives,
                                       const torch::Tensor& negatives, double margin);

/// Scalars; only the loss has a gradient.
struct CosineTripletLoss {
  torch::Tensor loss;             ///< mean over triplets of log(1 + exp(cos(a,n) - cos(a,p)))
  torch::Tensor positive_cosine;  ///< mean cos(a,p)
  torch::Tensor negative_cosine;  ///< mean cos(a,n)
};

/// Of the same rows. Lengths are clamped to at least 1e-8, so that zero vectors give finite values.
[[nodiscard]] CosineTripletLoss cosine_triplet_loss(const torch::Tensor& anchors,
                                                    const torch::Tensor& positives,
                                                    const torch::Tensor& negatives);

}  // namespace seam::stages
