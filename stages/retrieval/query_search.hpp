/// The search of one query: what the matrix product cannot rule out is scored again in double.
///
///     scan, scan, ... ──► what is pending of all queries ──► measure_together ──► finish
///                                                            by gallery row
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <seam/retrieval.hpp>
#include <span>
#include <vector>

#include "stages/retrieval/search_kernels.hpp"

namespace seam::stages {

/// Elements [begin, end) of a vector hold all that is not zero.
struct Extent {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// Where a vector may be other than zero. Masked embeddings are zero almost everywhere, and leaving
/// zeros out changes no sum; the beginning is a multiple of 16 so that every element keeps its
/// lane.
[[nodiscard]] Extent extent_of(const float* vector, std::int64_t dimensions);

/// What the search of one query needs of the gallery.
struct GalleryView {
  const float* vectors;
  const double* squared_norms;
  const Extent* extents;
  std::int64_t size;
  std::int64_t dimensions;
  double largest_norm;
  retrieval::Metric metric;
  std::span<const std::int64_t> items;
  /// How far vectors were moved at most before they were multiplied: by rounding to bfloat16. For
  /// cosine as a share of their length.
  double largest_move = 0;
  double product_rounding = 0;  ///< unit roundoff of the products' own type, beyond float32's
  float least_offset = 0;       ///< of the scores; needed where products were rounded
  float largest_offset = 0;
};

/// The query, and what is asked of its search.
struct QueryView {
  const float* vector;
  double squared_norm;
  std::int64_t excluded;  ///< the gallery row that must not be found, or -1
  std::int64_t item;
  std::int64_t k;
  double move = 0;          ///< how far the vector was moved before it was multiplied
  float farther_than = -1;  ///< the distance up to which nothing must be found; below 0: none
};

/// Takes the scores of gallery tiles in ascending row order.
///
/// `pending_` holds what has not been ruled out, by score; when it is full, a tighter threshold
/// empties most of it. What is pending after the last tile is scored in double, for all queries
/// that are searched together in one pass over the gallery: memory is what long vectors wait for.
/// Where too many scores lie within the rounding error of the k-th (ties), the pending ones are
/// settled: scored in double at once and reduced to the k nearest, so that neither memory nor the
/// threshold depends on how many ties there are.
class QuerySearch {
 public:
  /// `gallery` must outlive the search.
  QuerySearch(const GalleryView& gallery, const QueryView& query);

  /// Looks at the scores of gallery rows first ... first + count - 1.
  void scan(const Scores& scores, std::int64_t first, std::int64_t count);

  /// After the last scan, before finish(): scores in double what is pending of these searches, all
  /// of one gallery.
  static void measure_together(std::span<QuerySearch> searches);

  /// Writes the result of this query; both spans are k long.
  void finish(std::span<std::int64_t> rows, std::span<float> distances, std::int64_t& tied,
              std::int64_t& relevant);

  /// How many pairs had to be scored in double before measure_together().
  [[nodiscard]] std::int64_t settled() const { return settled_; }

  /// The memory that the search of one query takes at most, with its share of measure_together().
  [[nodiscard]] static std::int64_t bytes(std::int64_t k, std::int64_t gallery_size);

 private:
  /// A pair that the matrix product could not rule out.
  struct Candidate {
    float score;
    std::int32_t row;
  };
  /// A pair whose distance is known.
  struct Scored {
    float distance;
    std::int32_t row;
  };
  static bool nearer(const Scored& a, const Scored& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
  }

  void take(const Scores& scores, std::int64_t first, std::int64_t j);
  [[nodiscard]] bool is_far_enough(const Candidate& candidate);
  void make_room();
  void tighten_by_score();
  void discard_pending(std::size_t from);
  void settle();
  void measure_pending(std::size_t begin, std::size_t end);
  void keep_nearest();
  void fetch(std::int64_t row) const;
  [[nodiscard]] double inner_product_with(std::int64_t row) const;
  [[nodiscard]] float measure(const Candidate& candidate) const;
  [[nodiscard]] double error_at(double score) const;
  [[nodiscard]] double highest_score_of(double exact) const;
  [[nodiscard]] double score_at(float distance) const;
  void set_threshold(double value);

  const GalleryView& gallery_;
  QueryView query_;
  const Kernels& kernels_ = search_kernels();
  Extent extent_;
  double norm_;
  double error_ = 0;
  std::size_t k_;  // no more than the gallery has
  std::size_t capacity_;
  float threshold_ = std::numeric_limits<float>::infinity();
  float cut_ = std::numeric_limits<float>::infinity();
  std::int64_t settled_ = 0;
  std::int64_t tied_ = 0;
  std::int64_t tied_relevant_ = 0;
  std::vector<Candidate> pending_;
  std::vector<Scored> best_;
};

}  // namespace seam::stages
