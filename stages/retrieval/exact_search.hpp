/// Exact k nearest neighbours of every query in a gallery, the same bytes for any number of threads
/// and any tile size.
///
///     queries [Q,D] ─┐  matrix product,       what may still be      distances in double,   [Q,k]
///     gallery [G,D] ─┴─ a tile at a time ───► among the k nearest ──► (distance, row) order ─────►
///
/// A float32 matrix product alone cannot give an order: its last bits change with tile size, thread
/// count and library, and identical vectors get different distances. So the product only discards:
/// a pair is dropped when its score is worse than the k-th best by more than the worst rounding
/// error of both. What is left is scored again in double with a fixed order of summation, rounded
/// to float32, and ordered by (distance, gallery row). The result is therefore a property of the
/// vectors.
///
/// Since it only discards, the product may be of vectors rounded to bfloat16, where the processor
/// multiplies those faster. The error is then that much larger; where it leaves too many pairs, as
/// for vectors that all lie close together, the queries at hand are searched again in float32.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <seam/retrieval.hpp>
#include <span>
#include <string>
#include <vector>

#include "stages/retrieval/query_search.hpp"

namespace seam::stages {

using retrieval::Metric;
using retrieval::NameOfRow;
using retrieval::Neighbours;

/// What vectors are multiplied in. Changes the time that a search takes, never its result.
enum class Products {
  fastest,  ///< bfloat16 where that pays, or else float32
  float32,
  bfloat16,  ///< however little that discards; float32 where the processor has no instructions
};

/// How to search; the spans may be empty, and must live through the call otherwise.
struct SearchOptions {
  std::int64_t k = 50;
  /// [Q] the gallery row that a query must not find (itself, in leave-one-out), or -1.
  std::span<const std::int64_t> excluded_row;
  /// [Q] a query finds only rows that are farther than this, as distances of a result; or -1: any.
  std::span<const float> farther_than;
  /// [Q] and [G]: which item a vector shows. Only used to tell relevant from irrelevant ties at the
  /// cut; never changes which neighbours are found.
  std::span<const std::int64_t> query_item;
  std::span<const std::int64_t> gallery_item;
  /// The scores of query_tile x gallery_tile pairs are in memory at once, for each thread.
  std::int64_t query_tile = 256;
  std::int64_t gallery_tile = 1024;
  Products products = Products::fastest;
};

/// A gallery made ready for searching.
class ExactIndex {
 public:
  /// `vectors`: f32[G,D] on the CPU, kept by handle. Throws seam::Error naming the first row that
  /// has a NaN or infinite element, a length above 1e15, or, where the metric is cosine, below
  /// 1e-12: such a vector has no meaningful distance, or none that float32 can hold.
  ExactIndex(torch::Tensor vectors, Metric metric, const NameOfRow& name_of_row = {});

  [[nodiscard]] std::int64_t size() const { return vectors_.size(0); }
  [[nodiscard]] std::int64_t dimensions() const { return vectors_.size(1); }
  [[nodiscard]] Metric metric() const { return metric_; }
  [[nodiscard]] const torch::Tensor& vectors() const { return vectors_; }

  /// `queries`: f32[Q,D]. Memory beside inputs and result, for each thread:
  ///
  ///     query_tile * (6 gallery_tile + 16 max(128, 8 k) + 8 k + 10 D + 900) + 4 G bytes at most
  ///
  /// where k counts up to the gallery's size: 4 MB for k = 50, D = 368. For large k the tile has
  /// fewer queries, so that the part that grows with k stays below 64 MiB or one query's. Work is Q
  /// * G * D multiplications in float32 or bfloat16 and, in double, what cannot be told apart by
  /// these: close to Q * k * D, at most Q * G * D where everything ties. Throws seam::Error for
  /// wrong shapes, spans of another length, and rows as the constructor does.
  [[nodiscard]] Neighbours search(const torch::Tensor& queries, const SearchOptions& options,
                                  const NameOfRow& name_of_row = {}) const;

 private:
  torch::Tensor vectors_;
  torch::Tensor rounded_;  ///< to bfloat16; undefined where the processor does not multiply it
  Metric metric_;
  std::vector<double> squared_norms_;
  std::vector<Extent> extents_;
  std::vector<float> score_offset_;  ///< score = offset + scale * product; grows with the distance
  std::vector<float> score_scale_;
  double largest_norm_ = 0;
  double largest_move_ = 0;  ///< by rounding; for cosine, as a share of the length
};

}  // namespace seam::stages
