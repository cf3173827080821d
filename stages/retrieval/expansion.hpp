/// Moves vectors towards their nearest neighbours: query expansion, and the same for a gallery.
///
///     q' = unit( q + Σ_i max(0, cos(q, g_i))^alpha g_i )        over the n nearest g_i, all unit
///
/// With alpha = 0 all weights are equal: average query expansion (Chum, Philbin, Sivic, Isard,
/// Zisserman, "Total Recall", ICCV 2007). Weights: alpha query expansion (Radenović, Tolias, Chum,
/// "Fine-tuning CNN Image Retrieval with No Human Annotation", TPAMI 2019; there alpha = 3 and n =
/// 50).
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <seam/field.hpp>
#include <seam/gallery.hpp>
#include <seam/retrieval.hpp>
#include <string>

namespace seam::stages {

struct Expansion {
  std::int64_t neighbours = 10;
  double alpha = 0;

  /// "average(10)" or "alpha(10,3)".
  [[nodiscard]] std::string text() const;
};

/// `queries` f32[Q,E] and `gallery` f32[G,E] on the CPU, scaled to unit length before they are
/// added; `found`: result of a search under `metric`. Returns f32[Q,E] of unit length. Neighbours
/// are added nearest first, in double. Throws seam::Error naming the image if a vector or sum has
/// no direction, and (configuration) if squared Euclidean distances are used for vectors that do
/// not have unit length: scaling these would rank the gallery differently.
[[nodiscard]] torch::Tensor expanded(const torch::Tensor& queries, const torch::Tensor& gallery,
                                     const retrieval::Neighbours& found, retrieval::Metric metric,
                                     const Expansion& expansion,
                                     const retrieval::NameOfRow& name_of_query);

/// Describes expanded queries to the search; becomes part of the protocol.
struct ExpandedQueries {
  std::string text;
  bool self_excluded = false;  ///< whether no query was moved towards its own image in the gallery
  const retrieval::Gallery* gallery = nullptr;  ///< the neighbours' gallery

  /// Describes the expansion without the gallery's address, which is meaningless in a different
  /// run.
  friend bool operator==(const ExpandedQueries& a, const ExpandedQueries& b) {
    return a.text == b.text && a.self_excluded == b.self_excluded;
  }
};

}  // namespace seam::stages

namespace seam::field {

/// Present if `embedding` is that of expanded queries.
inline constexpr Field<stages::ExpandedQueries> query_expansion{"query_expansion"};

}  // namespace seam::field
