/// What a search hands on: for a batch of queries, the nearest gallery images under every mask.
///
///     retrieval.search ──► rankings ──► retrieval.recall
#pragma once

#include <cstdint>
#include <seam/field.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/retrieval/exact_search.hpp"
#include "stages/retrieval/masked_embedding.hpp"

namespace seam::stages {

/// How many neighbours a search finds, for who counts among them.
struct SearchDepth {
  std::int64_t k = 50;
};

/// One mask's result.
struct Ranking {
  Mask mask = Mask::none;
  Metric metric = Metric::squared_euclidean;
  Neighbours neighbours;            ///< rows are positions in the GalleryIndex
  std::vector<std::int64_t> items;  ///< [N,k] the neighbours' item numbers, -1 past the end

  friend bool operator==(const Ranking&, const Ranking&) = default;
};

/// A batch of N queries. Item numbers are the GalleryIndex's.
struct Rankings {
  std::vector<Ranking> by_mask;
  std::vector<std::int64_t> item;      ///< [N] -2 for an item that the gallery does not have
  std::vector<std::int64_t> relevant;  ///< [N] gallery images of the item, without the query itself
  std::int64_t gallery_images = 0;
  std::int64_t gallery_items = 0;
  bool self_excluded = false;
  /// How often the run trained between embedding the gallery and the queries; 0 where the numbers
  /// are of one model.
  std::int64_t trainings_since_gallery = 0;

  friend bool operator==(const Rankings&, const Rankings&) = default;
};

}  // namespace seam::stages

namespace seam {

namespace field {
inline constexpr Field<stages::Rankings> rankings{"rankings"};
}  // namespace field

template <>
struct FieldTraits<stages::Rankings> {
  static std::size_t bytes(const stages::Rankings& value) {
    std::size_t total = sizeof(value);
    for (const stages::Ranking& ranking : value.by_mask) {
      total += sizeof(ranking) + 2 * sizeof(std::int64_t) * ranking.items.size() +
               sizeof(float) * ranking.neighbours.distances.size();
    }
    return total;
  }
  static std::string violation(const stages::Rankings& /*value*/, std::string_view /*contract*/) {
    return {};
  }
};

}  // namespace seam
