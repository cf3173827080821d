/// Supervised contrastive loss: among all other rows of a batch, those of the same item should be
/// the similar ones.
///
///     S = e eᵀ / τ ──► for each row i: mean over positives p of
///                      -log( exp S_ip / Σ_(a ≠ i) exp S_ia )
///
/// Khosla et al., "Supervised Contrastive Learning", NeurIPS 2020, equation 2 (L_out).
#pragma once

#include <torch/types.h>

namespace seam::stages {

/// The mean over rows that have a positive; `embedding` [N,E] is compared by cosine, `labels` i64
/// [N] says which rows show the same item, and at least two must. Differentiable in the embedding;
/// one that is not finite makes the loss NaN.
[[nodiscard]] torch::Tensor supervised_contrastive_loss(const torch::Tensor& embedding,
                                                        const torch::Tensor& labels,
                                                        double temperature);

}  // namespace seam::stages
