/// The search for one query: pairs that the matrix product cannot rule out are scored again in
/// double.
///
///     scan, scan, ... ──► pending pairs of all queries ────► measure_together ──► finish
///                                                            by gallery row
#pragma once

#include <limits>
#include <seam/retrieval.hpp>

#include "stages/retrieval/search_kernels.hpp"

namespace seam::stages {

/// Elements [begin, end) of a vector contain all nonzero ones.
struct Extent {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// The range in which a vector may be nonzero. Masked embeddings are zero almost everywhere, and
/// leaving out zeros does not change sums; the beginning is a multiple of 16 so that every element
/// keeps its lane.
[[nodiscard]] Extent extent_of(const float* vector, std::int64_t dimensions);

/// The data of the gallery for the search of one query.
struct GalleryView {
  const float* vectors;
  const double* squared_norms;
  const Extent* extents;
  std::int64_t size;
  std::int64_t dimensions;
  double largest_norm;
  retrieval::Metric metric;
  std::span<const std::int64_t> items;
  /// The largest change of a vector by rounding to bfloat16 before the multiplication. For cosine
  /// as a fraction of its length.
  double largest_move = 0;
  double product_rounding = 0;  ///< unit roundoff of the products' type, in addition to float32's
  float least_offset = 0;       ///< of the scores; needed if products were rounded
  float largest_offset = 0;
};

/// The query and the conditions of its search.
struct QueryView {
  const float* vector;
  double squared_norm;
  std::int64_t excluded;  ///< gallery row that must not be found, or -1
  std::int64_t item;
  std::int64_t k;
  double move = 0;          ///< change of the vector by rounding before the multiplication
  float farther_than = -1;  ///< only rows with a larger distance are found; below 0: all
};

/// Processes the scores of gallery tiles in ascending row order.
///
/// `pending_` holds the pairs that have not been ruled out, by score; when it is full, a tighter
/// threshold removes most of them. Pairs that are pending after the last tile are scored in double,
/// for all queries of a search in one pass over the gallery, because long vectors are limited by
/// memory bandwidth. If too many scores are within the rounding error of the k-th (ties), the
/// pending pairs are settled: scored in double at once and reduced to the k nearest, so that
/// neither memory nor the threshold depends on the number of ties.
class QuerySearch {
 public:
  /// `gallery` must outlive the search.
  QuerySearch(const GalleryView& gallery, const QueryView& query);

  /// Processes the scores of gallery rows first ... first + count - 1.
  void scan(const Scores& scores, std::int64_t first, std::int64_t count);

  /// To be called after the last scan and before finish(): scores the pending pairs of these
  /// searches in double. All searches must have the same gallery.
  static void measure_together(std::span<QuerySearch> searches);

  /// Writes the result of this query; both spans are k long.
  void finish(std::span<std::int64_t> rows, std::span<float> distances, std::int64_t& tied,
              std::int64_t& relevant);

  /// The number of pairs that were scored in double before measure_together().
  [[nodiscard]] std::int64_t settled() const { return settled_; }

  /// The maximum memory for the search of one query, including its part of measure_together().
  [[nodiscard]] static std::int64_t bytes(std::int64_t k, std::int64_t gallery_size);

 private:
  /// A pair not ruled out by the matrix product.
  struct Candidate {
    float score;
    std::int32_t row;
  };
  /// A pair with its distance.
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
  std::size_t k_;  // at most the gallery's size
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
