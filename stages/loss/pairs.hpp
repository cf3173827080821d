/// The pairs of a batch: rows 2k and 2k+1, with the label that both have in `same`.
#pragma once

#include <seam/tensor.hpp>

#include <cstdint>
#include <vector>

namespace seam::stages {

/// One row per pair.
struct Pairs {
  Tensor first;   ///< [P,E]
  Tensor second;  ///< [P,E]
  Tensor same;    ///< [P], 1 or 0 in the embeddings' type
};

/// Throws seam::Error for no rows, an odd number of them, labels other than 0 and 1, labels that
/// differ within a pair, and pairs whose rows belong to two groups: a pair that has lost an image
/// shifts all later ones. A row without a group (-1) only fits another one without a group.
[[nodiscard]] Pairs pairs_of(const Tensor& embedding, const Tensor& same,
                             const std::vector<std::int64_t>* groups);

}  // namespace seam::stages
