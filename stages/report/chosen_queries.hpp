/// Which of all queries a person should see.
///
///     every query, its nearest pictures ──► best, worst, some of each category
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
  std::int64_t row = 0;  ///< of the gallery
  float distance = 0;
  bool right = false;  ///< shows the query's item

  friend bool operator==(const FoundPicture&, const FoundPicture&) = default;
};

struct AskedQuery {
  Origin origin;
  std::string item;
  std::int64_t category = -1;    ///< -1: not known
  std::int64_t relevant = 0;     ///< gallery pictures of its item
  std::int64_t first_right = 0;  ///< rank of the first right picture, from 1; 0: none was found
  std::vector<FoundPicture> nearest;  ///< those to show, nearest first
};

struct QueryChoice {
  std::int64_t best = 4;
  std::int64_t worst = 4;
  std::int64_t per_category = 2;
  std::int64_t categories = 12;      ///< at most, those with the most queries
  std::vector<std::string> names{};  ///< of the categories, as far as they are known
};

struct QueryGroup {
  std::string title;
  std::vector<std::size_t> queries;  ///< positions among all

  friend bool operator==(const QueryGroup&, const QueryGroup&) = default;
};

/// Best: a right picture at the lowest rank, then most right ones among those shown, then the
/// nearest first one. Worst: the first right picture at the highest rank or nowhere, then the
/// nearest wrong one: the surest mistakes. Neither has queries that the gallery cannot answer, or
/// one that is in the other. Samples depend on the random numbers and on the number of queries of
/// each category alone, so that the same pictures are seen epoch after epoch.
std::vector<QueryGroup> choose_queries(std::span<const AskedQuery> queries,
                                       const QueryChoice& choice, Random random);

}  // namespace seam::stages
