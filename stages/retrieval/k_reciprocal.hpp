/// Re-ranking by k-reciprocal neighbours: two images are similar if each is among the nearest
/// neighbours of the other, and if they have the same neighbours.
///
///     R(p,k)   = { g : g among the k nearest of p, and p among those of g }
///     R*(p,k)  = R(p,k) and R(c,k/2) of each c in it that shares over 2/3 of R(c,k/2) with R(p,k)
///     V_p[j]   = exp(-d(p,j) / max d(p,.)) for j in R*(p,k1), scaled to the sum 1
///     V'_p     = mean of V over p and its k2 - 1 nearest
///     Jaccard  = 1 - Σ min(V'_p, V'_g) / Σ max(V'_p, V'_g)
///     distance = (1 - lambda) Jaccard + lambda d(p,g) / max d(p,.)
///
/// Zhong, Zheng, Cao, Li, "Re-ranking Person Re-identification with k-Reciprocal Encoding", CVPR
/// 2017. Scaling by the largest distance, rounding k/2 half to even, and counting an image among
/// its own neighbours are those of the released code. Unlike in that code, which considers all
/// queries together, each query is compared only with the gallery: a result does not depend on the
/// other queries.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <seam/retrieval.hpp>
#include <span>
#include <string>
#include <vector>

#include "stages/retrieval/exact_search.hpp"
#include "stages/retrieval/vector_gallery.hpp"

namespace seam::stages {

struct KReciprocal {
  std::int64_t k1 = 20;
  std::int64_t k2 = 6;
  double lambda = 0.3;

  /// "k-reciprocal(20,6,0.3)".
  [[nodiscard]] std::string text() const;
};

/// A query and its neighbours in a search.
struct RerankedQuery {
  const float* vector = nullptr;
  float farthest = 0;                  ///< distance of the farthest gallery row
  std::int64_t excluded = -1;          ///< the gallery row that is the query itself, or -1
  std::span<const std::int64_t> rows;  ///< nearest first, k1 of them if there are that many
  std::span<const float> distances;
};

/// The neighbourhoods within the gallery, under one mask: 8 k1 + 20 bytes per image, and a second
/// copy of the vectors if squared_euclidean compares them.
class ReciprocalGallery {
 public:
  /// Searches the gallery for each of its own images, some at a time; in between, `go_on` is
  /// called, which may throw. Memory and time are those of a search with k = k1 + 1, and one with k
  /// = 1, with the gallery as queries.
  ReciprocalGallery(const VectorGallery& gallery, retrieval::Mask mask, const KReciprocal& options,
                    const std::function<void()>& go_on);

  /// The distance of each query f32[Q,E] to its farthest row.
  [[nodiscard]] std::vector<float> farthest_from(const torch::Tensor& queries,
                                                 const retrieval::NameOfRow& name_of_query) const;

  /// Throws seam::Error (configuration) naming the query if its distances are not those to this
  /// gallery.
  void check(const RerankedQuery& query, const std::string& name) const;

  /// The re-ranking distances of the query to its neighbours, in their order, from 0 to 1; row -1
  /// and everything after it are left out. For queries that check() accepts. Thread-safe.
  [[nodiscard]] std::vector<double> distances(const RerankedQuery& query) const;

 private:
  friend class ReciprocalSets;

  struct Near {
    std::int32_t row = -1;
    float distance = 0;
  };

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(farthest_.size()); }
  /// The k1 + 1 nearest other rows of a row, nearest first, equal distances by row.
  [[nodiscard]] std::span<const Near> nearest(std::int64_t row) const;
  [[nodiscard]] const float* vector(std::int64_t row) const;
  /// Distance as in a search: computed in double, rounded to float32.
  [[nodiscard]] float distance(const float* a, double squared_a, std::int64_t row) const;

  const VectorGallery* gallery_;
  retrieval::Mask mask_;
  retrieval::Metric metric_;
  KReciprocal options_;
  std::int64_t dimensions_;
  std::int64_t each_;                   // number of neighbours kept per row
  std::optional<ExactIndex> mirrored_;  // its nearest row is the farthest
  std::vector<double> squared_norms_;
  std::vector<Near> nearest_;
  std::vector<float> farthest_;
};

}  // namespace seam::stages
