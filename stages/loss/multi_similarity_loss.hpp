/// Multi-similarity loss: pairs of a batch weighted by their own similarity and by those of the
/// other pairs with the same anchor.
///
///     S = e eᵀ ──► mining: pairs that violate the order by more than -epsilon
///              ──► 1/α log(1 + Σ_P exp(-α (S - λ))) + 1/β log(1 + Σ_N exp(β (S - λ)))
///
/// Wang, Han, Huang, Dong, Scott: "Multi-Similarity Loss with General Pair Weighting for Deep
/// Metric Learning", CVPR 2019, equations 7, 8 (mining) and 15 (loss).
#pragma once

#include <torch/types.h>

namespace seam::stages {

struct MultiSimilarityOptions {
  double alpha = 2;      ///< of positive pairs
  double beta = 50;      ///< of negative pairs
  double lambda = 0.5;   ///< the similarity that positives should exceed and negatives stay below
  double epsilon = 0.1;  ///< margin of the mining
};

/// Scalars on the embedding's device; only the loss has a gradient.
struct MultiSimilarityLoss {
  torch::Tensor loss;            ///< mean over all N anchors
  torch::Tensor positive_pairs;  ///< mined, per anchor
  torch::Tensor negative_pairs;
};

/// `embedding` [N,E] is compared by cosine; `labels` i64 [N] says which rows show the same item.
/// An anchor for which nothing is mined counts as 0; an embedding that is not finite makes the loss
/// NaN. Differentiable in the embedding; computed in the embedding's type.
[[nodiscard]] MultiSimilarityLoss multi_similarity_loss(const torch::Tensor& embedding,
                                                        const torch::Tensor& labels,
                                                        const MultiSimilarityOptions& options);

}  // namespace seam::stages
