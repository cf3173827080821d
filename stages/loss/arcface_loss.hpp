/// Additive angular margin: classification by the angle to a learned centre, with the angle to the
/// row's own centre increased by a margin.
///
///     cos θ = e cᵀ ──► own class: cos(θ + m) ──► softmax cross entropy of s times these
///
/// Deng, Guo, Xue, Zafeiriou, "ArcFace: Additive Angular Margin Loss for Deep Face Recognition",
/// CVPR 2019, equation 3. If θ + m exceeds π, the cosine would grow again; it is then replaced by
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
  torch::Tensor accuracy;             ///< fraction of rows whose nearest centre is their own
};

/// `embedding` [N,E] and `centres` [K,E], of one type and device; neither needs unit length.
/// `labels`, one per row, are row numbers of `centres`. Differentiable in both; bit-identical for
/// any number of threads. Values that are not finite make the loss NaN. Throws seam::Error for no
/// rows, for a different number of labels and for a label without a centre.
[[nodiscard]] ArcfaceLoss arcface_loss(const torch::Tensor& embedding, const torch::Tensor& centres,
                                       const std::vector<std::int64_t>& labels,
                                       const ArcfaceOptions& options);

}  // namespace seam::stages
