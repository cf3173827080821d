// SPDX-License-Identifier: Apache-2.0
/// Types shared by retrieval stages of different plugins: the rankings of a batch of queries.
///
///     a search ──► rankings ──► a metric
///
/// A stage that declares `d.needs(seam::field::rankings)` gets the nearest gallery images of each
/// query and can compute any metric from them; one that provides the field can replace
/// retrieval.search. Galleries, which hold tensors, are in <seam/gallery.hpp>. No LibTorch is
/// needed here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "seam/export.hpp"
#include "seam/field.hpp"

namespace seam::retrieval {

/// Which class capsule of each image is compared, for models with one per category.
enum class Mask : std::uint8_t {
  none,       ///< the whole embedding; valid for every model
  predicted,  ///< each image keeps the capsule of the category that the model predicts
  /// Each image keeps the capsule of its true category. The label of every query narrows the search
  /// to its category, so results are not those of a retrieval system ("leaky").
  ground_truth,
};

enum class Metric : std::uint8_t {
  squared_euclidean,  ///< |q - g|^2
  /// 2 - 2 cos(q, g): the squared Euclidean distance of the vectors scaled to unit length.
  /// Orthogonal vectors are at distance 2 exactly.
  cosine,
};

/// "none", "predicted", "ground_truth".
[[nodiscard]] SEAM_EXPORT std::string to_string(Mask mask);
/// "squared_euclidean", "cosine".
[[nodiscard]] SEAM_EXPORT std::string to_string(Metric metric);

/// Whether results under the mask depend on labels.
[[nodiscard]] constexpr bool reads_labels(Mask mask) {
  return mask == Mask::ground_truth;
}

/// Names the image that a row was computed from, for messages.
using NameOfRow = std::function<std::string(std::int64_t)>;

/// Size of a model's input images in pixels.
struct InputSize {
  std::int64_t height = 0;  ///< 0: unknown; -1: images of several sizes
  std::int64_t width = 0;

  [[nodiscard]] bool known() const { return height > 0 && width > 0; }
  friend bool operator==(const InputSize&, const InputSize&) = default;
};

/// "256x256" (height first), "unknown" or "mixed".
[[nodiscard]] SEAM_EXPORT std::string to_string(const InputSize& size);
/// The size of two sets of images together: the common one, or mixed.
[[nodiscard]] SEAM_EXPORT InputSize together(const InputSize& a, const InputSize& b);

/// The k nearest of every query, nearest first; equal distances by gallery row. The list of a query
/// with fewer than k (excluded row, small gallery) is filled with row -1 at infinite distance.
struct Neighbours {
  std::int64_t queries = 0;
  std::int64_t k = 0;
  std::vector<std::int64_t> rows;  ///< [queries,k] positions in the gallery's rows
  std::vector<float> distances;    ///< [queries,k] by the ranking's metric; ascending
  /// [queries] number of gallery rows at exactly the distance of the k-th neighbour, but not among
  /// the k.
  std::vector<std::int64_t> tied_beyond;
  /// [queries] how many of these show the query's item; 0 if items are unknown.
  std::vector<std::int64_t> tied_beyond_relevant;

  friend bool operator==(const Neighbours&, const Neighbours&) = default;
};

/// One mask's result.
struct Ranking {
  Mask mask = Mask::none;
  Metric metric = Metric::squared_euclidean;
  Neighbours neighbours;
  std::vector<std::int64_t> items;  ///< [N,k] the neighbours' item numbers, -1 past the end

  friend bool operator==(const Ranking&, const Ranking&) = default;
};

/// A batch of N queries. Items are numbered from 0 in the order of the gallery's rows.
struct Rankings {
  std::vector<Ranking> by_mask;        ///< at least one, each mask once, all with the same k
  std::vector<std::int64_t> item;      ///< [N] below -1 for an item that the gallery does not have
  std::vector<std::int64_t> relevant;  ///< [N] gallery images of the item, without the query itself
  std::string method = "exact";        ///< how neighbours were found, for protocols
  std::int64_t gallery_images = 0;
  std::int64_t gallery_items = 0;
  bool self_excluded = false;  ///< leave-one-out: no query finds itself
  /// Number of training flows between embedding the gallery and the queries; 0 if both are from the
  /// same model.
  std::int64_t trainings_since_gallery = 0;
  InputSize query_input;
  InputSize gallery_input;

  friend bool operator==(const Rankings&, const Rankings&) = default;
};

/// Empty, or a problem with the lengths and numbers of the value, as a clause: "it has 3 queries
/// and 2 counts of relevant images". A metric that reads rankings from other plugins calls this
/// first.
[[nodiscard]] SEAM_EXPORT std::string problem_with(const Rankings& rankings);

}  // namespace seam::retrieval

namespace seam {

template <>
struct FieldTraits<retrieval::Rankings> {
  SEAM_EXPORT static std::size_t bytes(const retrieval::Rankings& value);
  SEAM_EXPORT static std::string violation(const retrieval::Rankings& value,
                                           std::string_view contract);
  static std::int64_t rows(const retrieval::Rankings& value) {
    return static_cast<std::int64_t>(value.item.size());
  }
};

namespace field {

/// N queries with k neighbours each. Narrow the contract: a search provides "*[N,50]", and a metric
/// that uses the first 20 needs "*[N,20+]", so that `seam check` finds a search that is too
/// shallow.
inline constexpr Field<retrieval::Rankings> rankings{"rankings", "*[N,k]"};

}  // namespace field
}  // namespace seam
