/// Additive angular margin: classification by the angle to a learnt centre, where that of the own
/// class is made harder.
///
///     cos θ = e cᵀ ──► own class: cos(θ + m) ──► softmax cross entropy of s times these
///
/// Deng, Guo, Xue, Zafeiriou, "ArcFace: Additive Angular Margin Loss for Deep Face Recognition",
/// CVPR 2019, equation 3. Where θ + m would exceed π the cosine would grow again; there it is
/// cos θ - m sin m, as in the authors' code.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace seam::stages {

struct ArcfaceOptions {
  double margin = 0.5;  ///< m, in radians
  double scale = 64;    ///< s
};

/// Scalars on the embedding's device; only the loss has a gradient.
struct ArcfaceLoss {
  torch::Tensor loss;
  torch::Tensor positive_similarity;  ///< of a row and its centre, mean over rows
  torch::Tensor accuracy;             ///< share of rows whose nearest centre is their own
};

/// `embedding` [N,E] and `centres` [K,E], of one type and device; neither needs unit length.
/// `labels`, one a row, are rows of `centres`. Differentiable in both; the same bytes for any
/// number of threads. What is not finite makes the loss NaN. Throws seam::Error for no rows, for
/// another number of labels and for a label that has no centre.
[[nodiscard]] ArcfaceLoss arcface_loss(const torch::Tensor& embedding, const torch::Tensor& centres,
                                       const std::vector<std::int64_t>& labels,
                                       const ArcfaceOptions& options);

}  // namespace seam::stages
