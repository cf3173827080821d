/// Contrastive loss between a batch's rows and those of a memory, which ends with the batch's own.
///
///     S = unit(batch) unit(memory)ᵀ ──► positives: 1 - S      negatives: max(0, S - margin)
///     loss = mean of the positives above 0 + mean of the negatives above 0
///
/// Wang, Zhang, Huang, Scott, "Cross-Batch Memory for Embedding Learning", CVPR 2020, with its
/// contrastive loss on similarities; averaged as by pytorch-metric-learning's CrossBatchMemory
/// around ContrastiveLoss(pos_margin=1, neg_margin=margin, distance=CosineSimilarity()).
#pragma once

#include <torch/types.h>

namespace seam::stages {

/// Scalars on the embedding's device; only the loss has a gradient.
struct MemoryLoss {
  torch::Tensor loss;
  torch::Tensor positive_pairs;  ///< with a loss above 0, per row
  torch::Tensor negative_pairs;
};

/// `embedding` [N,E]; `memory` [M,E], the last N rows of which are the batch's, in order: no row is
/// compared with itself. `labels` i64 [M] says which rows show the same item. A kind without a pair
/// above 0 counts as 0; an embedding that is not finite makes the loss NaN. Differentiable in the
/// embedding only.
[[nodiscard]] MemoryLoss memory_loss(const torch::Tensor& embedding, const torch::Tensor& memory,
                                     const torch::Tensor& labels, double margin);

}  // namespace seam::stages
