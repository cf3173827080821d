/// Exact k nearest neighbours of every query in a gallery, the same bytes for any number of threads
/// and any tile size.
///
///     queries [Q,D] ─┐  float32 product,      what may still be      distances in double,   [Q,k]
///     gallery [G,D] ─┴─ a tile at a time ───► among the k nearest ──► (distance, row) order ─────►
///
/// A float32 matrix product alone cannot give an order: its last bits change with tile size, thread
/// count and library, and identical vectors get different distances. So the product only discards:
/// a pair is dropped when its score is worse than the k-th best by more than the worst rounding
/// error of both. What is left is scored again in double with a fixed order of summation, rounded
/// to float32, and ordered by (distance, gallery row). The result is therefore a property of the
/// vectors.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace seam::stages {

enum class Metric {
  squared_euclidean,  ///< |q - g|^2
  /// 2 - 2 cos(q, g): the squared Euclidean distance of the vectors scaled to unit length. Unlike
  /// squared_euclidean on vectors that were scaled in float32, it gives orthogonal vectors the
  /// distance 2 exactly, so ties between masked embeddings are seen as ties.
  cosine,
};

[[nodiscard]] std::string to_string(Metric metric);

/// Names the image a row was computed from, for messages.
using NameOfRow = std::function<std::string(std::int64_t)>;

/// Throws seam::Error naming the first row that has a NaN or infinite element, or a length outside
/// [1e-12, 1e15]: such a vector has no meaningful distance, or none that float32 can hold.
/// `vectors` is f32[N,D] on the CPU; `set` says what it is ("gallery", "query").
void check_vectors(const torch::Tensor& vectors, const std::string& set,
                   const NameOfRow& name_of_row);

/// How to search; the spans may be empty, and must live through the call otherwise.
struct SearchOptions {
  std::int64_t k = 50;
  /// [Q] the gallery row that a query must not find (itself, in leave-one-out), or -1.
  std::span<const std::int64_t> excluded_row;
  /// [Q] and [G]: which item a vector shows. Only used to tell relevant from irrelevant ties at the
  /// cut; never changes which neighbours are found.
  std::span<const std::int64_t> query_item;
  std::span<const std::int64_t> gallery_item;
  /// The scores of query_tile x gallery_tile pairs are in memory at once, for each thread.
  std::int64_t query_tile = 256;
  std::int64_t gallery_tile = 1024;
};

/// The k nearest of every query, nearest first. A query that has fewer than k (excluded row, small
/// gallery) is filled up with row -1 at infinite distance.
struct Neighbours {
  std::int64_t queries = 0;
  std::int64_t k = 0;
  std::vector<std::int64_t> rows;  ///< [Q,k]
  std::vector<float> distances;    ///< [Q,k]
  /// [Q] how many gallery rows are exactly as far as the k-th neighbour, but not among the k.
  std::vector<std::int64_t> tied_beyond;
  /// [Q] how many of these show the query's item; zeros unless the items were given.
  std::vector<std::int64_t> tied_beyond_relevant;

  friend bool operator==(const Neighbours&, const Neighbours&) = default;
};

/// Elements [begin, end) of a vector hold all that is not zero.
struct Extent {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// A gallery made ready for searching.
class ExactIndex {
 public:
  /// `vectors`: f32[G,D] on the CPU, kept by handle. Throws seam::Error as check_vectors() does.
  ExactIndex(torch::Tensor vectors, Metric metric, const NameOfRow& name_of_row = {});

  [[nodiscard]] std::int64_t size() const { return vectors_.size(0); }
  [[nodiscard]] std::int64_t dimensions() const { return vectors_.size(1); }
  [[nodiscard]] Metric metric() const { return metric_; }
  [[nodiscard]] const torch::Tensor& vectors() const { return vectors_; }

  /// `queries`: f32[Q,D]. Memory beside inputs and result, for each thread:
  ///
  ///     query_tile * (4 gallery_tile + 24 max(128, 3 k) + 16 k) + 8 D bytes at most
  ///
  /// 2.2 MB for k = 50, D = 368. Work is Q * G * D multiplications in float32 and, in double, what
  /// cannot be told apart by these: close to Q * k * D, at most Q * G * D where everything ties.
  /// Throws seam::Error for wrong shapes, spans of another length, and as check_vectors() does.
  [[nodiscard]] Neighbours search(const torch::Tensor& queries, const SearchOptions& options,
                                  const NameOfRow& name_of_row = {}) const;

 private:
  torch::Tensor vectors_;
  Metric metric_;
  std::vector<double> squared_norms_;
  std::vector<Extent> extents_;
  std::vector<float> score_offset_;  ///< score = offset + scale * product; grows with the distance
  std::vector<float> score_scale_;
  double largest_norm_ = 0;
};

/// The inner product in double, summed in a fixed order: element i into lane i modulo 16, then
/// the lanes in a tree. A product of two float32 is exact in double, so fused multiply-add changes
/// nothing.
[[nodiscard]] double inner_product(const float* a, const float* b, std::int64_t count);

}  // namespace seam::stages
