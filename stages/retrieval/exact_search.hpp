/// Exact k nearest neighbours of every query in a gallery, bit-identical for any number of threads
/// and any tile size.
///
///     queries [Q,D] ─┐  matrix product,       candidates for the     distances in double,   [Q,k]
///     gallery [G,D] ─┴─ tile by tile ───────► k nearest ────────────► (distance, row) order ─────►
///
/// A float32 matrix product alone cannot define an order: its last bits change with tile size,
/// thread count and library, and identical vectors get different distances. Therefore the product
/// is only used to discard pairs: a pair is dropped if its score is worse than the k-th best by
/// more than the worst rounding error of both. The remaining pairs are scored again in double with
/// a fixed order of summation, rounded to float32, and ordered by (distance, gallery row). The
/// result therefore depends only on the vectors.
///
/// For discarding, the vectors may be rounded to bfloat16 if the processor multiplies those faster.
/// The error is then larger; if it leaves too many pairs, as for vectors that are all close
/// together, the current queries are searched again in float32.
#pragma once

#include <torch/types.h>

#include <seam/retrieval.hpp>

#include "stages/retrieval/query_search.hpp"

namespace seam::stages {

using retrieval::Metric;
using retrieval::NameOfRow;
using retrieval::Neighbours;

/// Precision of the matrix product. Affects the time of a search, never its result.
enum class Products {
  fastest,  ///< bfloat16 if that is faster, or else float32
  float32,
  bfloat16,  ///< even if that discards little; float32 if the processor lacks the instructions
};

/// Options of a search; the spans may be empty, and must otherwise outlive the call.
struct SearchOptions {
  std::int64_t k = 50;
  /// [Q] the gallery row that a query must not find (itself, in leave-one-out), or -1.
  std::span<const std::int64_t> excluded_row;
  /// [Q] a query finds only rows with a larger distance than this; -1: any.
  std::span<const float> farther_than;
  /// [Q] and [G]: the item of a vector. Only used to distinguish relevant from irrelevant ties at
  /// the cut; never changes which neighbours are found.
  std::span<const std::int64_t> query_item;
  std::span<const std::int64_t> gallery_item;
  /// Each thread keeps the scores of query_tile x gallery_tile pairs in memory.
  std::int64_t query_tile = 256;
  std::int64_t gallery_tile = 1024;
  Products products = Products::fastest;
};

/// A gallery prepared for searching.
class ExactIndex {
 public:
  /// `vectors`: f32[G,D] on the CPU, kept by handle. Throws seam::Error naming the first row that
  /// has a NaN or infinite element, a length above 1e15 or, if the metric is cosine, below 1e-12:
  /// such a vector has no meaningful distance, or none that float32 can represent.
  ExactIndex(torch::Tensor vectors, Metric metric, const NameOfRow& name_of_row = {});

  [[nodiscard]] std::int64_t size() const { return vectors_.size(0); }
  [[nodiscard]] std::int64_t dimensions() const { return vectors_.size(1); }
  [[nodiscard]] Metric metric() const { return metric_; }
  [[nodiscard]] const torch::Tensor& vectors() const { return vectors_; }

  /// `queries`: f32[Q,D]. Memory in addition to inputs and result, per thread:
  ///
  ///     query_tile * (6 gallery_tile + 16 max(128, 8 k) + 8 k + 10 D + 900) + 4 G bytes at most
  ///
  /// with k at most the gallery's size: 4 MB for k = 50, D = 368. For large k the tile has fewer
  /// queries, so that the part that grows with k stays below 64 MiB or that of one query. The work
  /// is Q * G * D multiplications in float32 or bfloat16, and in double about Q * k * D, or at most
  /// Q * G * D if everything ties. Throws seam::Error for wrong shapes, spans of a wrong length,
  /// and rows as the constructor does.
  [[nodiscard]] Neighbours search(const torch::Tensor& queries, const SearchOptions& options,
                                  const NameOfRow& name_of_row = {}) const;

 private:
  torch::Tensor vectors_;
  torch::Tensor rounded_;  ///< to bfloat16; undefined if the processor does not multiply it
  Metric metric_;
  std::vector<double> squared_norms_;
  std::vector<Extent> extents_;
  std::vector<float> score_offset_;  ///< score = offset + scale * product; grows with the distance
  std::vector<float> score_scale_;
  double largest_norm_ = 0;
  double largest_move_ = 0;  ///< by rounding; for cosine, as a fraction of the length
};

}  // namespace seam::stages
