/// Embeddings of which one class capsule is kept, the others set to zero.
///
///     capsules [N,K,D]      category [N]        embedding [N, K*D]
///     ▓▓ ▓▓ ▓▓ ▓▓       +   2               =   ░░ ░░ ▓▓ ░░
///
/// Images of different categories are then at squared distance exactly 2, those of one category at
/// 2 - 2 cos. Whose category it is decides what an evaluation measures: see Mask.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>

namespace seam::stages {

enum class Mask : std::uint8_t {
  none,       ///< all class capsules are compared
  predicted,  ///< each image keeps the capsule of the category that the model predicts
  /// Each image keeps the capsule of its true category. The label of every query narrows the search
  /// to its category, so results are not those of a retrieval system ("leaky"); the released
  /// SCCapsNet evaluates like this.
  ground_truth,
};

[[nodiscard]] std::string to_string(Mask mask);
/// Whether results under the mask depend on labels.
[[nodiscard]] constexpr bool reads_labels(Mask mask) {
  return mask == Mask::ground_truth;
}

/// `capsules`: f32[N,K,D]; `category`: i64[N], each from 0 to K - 1. Returns f32[N,K*D] that shares
/// nothing with its inputs. Throws seam::Error for other shapes, and for a category out of range,
/// naming its row.
[[nodiscard]] torch::Tensor masked_embedding(const torch::Tensor& capsules,
                                             const torch::Tensor& category);

}  // namespace seam::stages
