/// Embeddings of which one class capsule is kept, the others set to zero.
///
///     capsules [N,K,D]      category [N]        embedding [N, K*D]
///     ▓▓ ▓▓ ▓▓ ▓▓       +   2               =   ░░ ░░ ▓▓ ░░
///
/// Images of different categories are then at squared distance exactly 2, those of one category at
/// 2 - 2 cos. Whose category it is decides what an evaluation measures: see retrieval::Mask.
#pragma once

#include <torch/types.h>

#include <seam/retrieval.hpp>

namespace seam::stages {

using retrieval::Mask;

/// `capsules`: f32[N,K,D]; `category`: i64[N], each from 0 to K - 1. Returns f32[N,K*D] that shares
/// nothing with its inputs. Throws seam::Error for other shapes, and for a category out of range,
/// naming its row.
[[nodiscard]] torch::Tensor masked_embedding(const torch::Tensor& capsules,
                                             const torch::Tensor& category);

}  // namespace seam::stages
