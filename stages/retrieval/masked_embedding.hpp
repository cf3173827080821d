/// Embeddings with one class capsule kept and the others set to zero.
///
///     capsules [N,K,D]      category [N]        embedding [N, K*D]
///     ▓▓ ▓▓ ▓▓ ▓▓       +   2               =   ░░ ░░ ▓▓ ░░
///
/// The squared distance of images of different categories is then exactly 2, and that of images of
/// one category 2 - 2 cos. The choice of the category determines what an evaluation measures: see
/// retrieval::Mask.
#pragma once

#include <torch/types.h>

#include <seam/retrieval.hpp>

namespace seam::stages {

using retrieval::Mask;

/// `capsules`: f32[N,K,D]; `category`: i64[N], each from 0 to K - 1. Returns f32[N,K*D] that shares
/// no memory with its inputs. Throws seam::Error for wrong shapes, and for a category out of range,
/// naming its row.
[[nodiscard]] torch::Tensor masked_embedding(const torch::Tensor& capsules,
                                             const torch::Tensor& category);

}  // namespace seam::stages
