/// Selects the queries that are shown to the user.
///
///     every query, its nearest images ──► best, worst, some of each category
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <seam/origin.hpp>
#include <seam/random.hpp>

namespace seam::stages {

struct FoundPicture {
  std::int64_t row = 0;  ///< in the gallery
  float distance = 0;
  bool right = false;  ///< shows the query's item

  friend bool operator==(const FoundPicture&, const FoundPicture&) = default;
};

struct AskedQuery {
  Origin origin;
  std::string item;
  std::int64_t category = -1;         ///< -1: unknown
  std::int64_t relevant = 0;          ///< number of gallery images of its item
  std::int64_t first_right = 0;       ///< rank of the first right image, from 1; 0: none was found
  std::vector<FoundPicture> nearest;  ///< the images to show, nearest first
};

struct QueryChoice {
  std::int64_t best = 4;
  std::int64_t worst = 4;
  std::int64_t per_category = 2;
  std::int64_t categories = 12;      ///< maximum number; those with the most queries are used
  std::vector<std::string> names{};  ///< of the categories, as far as known
};

struct QueryGroup {
  std::string title;
  std::vector<std::size_t> queries;  ///< positions among all queries

  friend bool operator==(const QueryGroup&, const QueryGroup&) = default;
};

/// Best: ordered by the lowest rank of a right image, then the most right images among those shown,
/// then the nearest first image. Worst: ordered by the highest rank of the first right image (or
/// none), then the nearest wrong image, so that confident mistakes come first. Neither has queries
/// that the gallery cannot answer, and no query is in both. Samples depend only on the random
/// numbers and on the number of queries of each category, so that every epoch shows the same
/// images.
std::vector<QueryGroup> choose_queries(std::span<const AskedQuery> queries,
                                       const QueryChoice& choice, Random random);

}  // namespace seam::stages
