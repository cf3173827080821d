/// Vectors moved towards their nearest neighbours: query expansion, and the same for a gallery.
///
///     q' = unit( q + Σ_i max(0, cos(q, g_i))^alpha g_i )        over the n nearest g_i, all unit
///
/// With alpha = 0 all count the same: average query expansion (Chum, Philbin, Sivic, Isard,
/// Zisserman, "Total Recall", ICCV 2007). Weights: alpha query expansion (Radenović, Tolias, Chum,
/// "Fine-tuning CNN Image Retrieval with No Human Annotation", TPAMI 2019; there alpha = 3 and
/// n = 50).
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
/// added; `found`: of a search under `metric`. Returns f32[Q,E] of unit length. Neighbours are
/// added nearest first, in double. Throws seam::Error naming the picture for a vector that has no
/// direction, or none after the sum, and (configuration) where squared Euclidean distances are of
/// vectors that are not of unit length: scaling these would rank the gallery differently.
[[nodiscard]] torch::Tensor expanded(const torch::Tensor& queries, const torch::Tensor& gallery,
                                     const retrieval::Neighbours& found, retrieval::Metric metric,
                                     const Expansion& expansion,
                                     const retrieval::NameOfRow& name_of_query);

/// What a search must know of queries that were expanded: it becomes part of the protocol.
struct ExpandedQueries {
  std::string text;
  bool self_excluded = false;  ///< no query was moved towards its own image in the gallery
  const retrieval::Gallery* gallery = nullptr;  ///< that the neighbours are of

  /// What was done, not in which run: an address means nothing in another.
  friend bool operator==(const ExpandedQueries& a, const ExpandedQueries& b) {
    return a.text == b.text && a.self_excluded == b.self_excluded;
  }
};

}  // namespace seam::stages

namespace seam::field {

/// Where `embedding` is that of expanded queries.
inline constexpr Field<stages::ExpandedQueries> query_expansion{"query_expansion"};

}  // namespace seam::field
