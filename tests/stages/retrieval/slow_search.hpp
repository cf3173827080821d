/// The reference for tests of exact search: all pairs, sorted.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "stages/retrieval/exact_search.hpp"
#include "stages/retrieval/search_kernels.hpp"

namespace seam::stages::retrieval_test {

inline torch::Tensor random_vectors(std::int64_t count, std::int64_t dimensions,
                                    std::uint64_t seed) {
  torch::manual_seed(seed);
  return torch::randn({count, dimensions});
}

/// The distance as the interface defines it; inner_product() is tested separately.
inline float distance_of(const float* q, const float* g, std::int64_t dimensions, Metric metric) {
  const double product = seam::stages::inner_product(q, g, dimensions);
  const double left = seam::stages::inner_product(q, q, dimensions);
  const double right = seam::stages::inner_product(g, g, dimensions);
  const double distance = metric == Metric::cosine ? 2 - 2 * (product / std::sqrt(left * right))
                                                   : left + (right - 2 * product);
  return static_cast<float>(std::max(0.0, distance));
}

/// All pairs, sorted: the slow and obvious way.
inline Neighbours slow_search(const torch::Tensor& queries, const torch::Tensor& gallery,
                              Metric metric, const SearchOptions& options) {
  Neighbours result;
  result.queries = queries.size(0);
  result.k = options.k;
  const std::int64_t dimensions = queries.size(1);
  for (std::int64_t i = 0; i < queries.size(0); ++i) {
    std::vector<std::pair<float, std::int64_t>> all;
    for (std::int64_t j = 0; j < gallery.size(0); ++j) {
      if (!options.excluded_row.empty() && options.excluded_row[i] == j) continue;
      all.emplace_back(distance_of(queries.data_ptr<float>() + i * dimensions,
                                   gallery.data_ptr<float>() + j * dimensions, dimensions, metric),
                       j);
      if (!options.farther_than.empty() && all.back().first <= options.farther_than[i]) {
        all.pop_back();
      }
    }
    std::sort(all.begin(), all.end());
    std::int64_t tied = 0;
    std::int64_t relevant = 0;
    for (std::int64_t n = 0; n < options.k; ++n) {
      const bool found = n < static_cast<std::int64_t>(all.size());
      result.rows.push_back(found ? all[n].second : -1);
      result.distances.push_back(found ? all[n].first : std::numeric_limits<float>::infinity());
    }
    for (std::int64_t n = options.k; n < static_cast<std::int64_t>(all.size()); ++n) {
      if (all[n].first != all[options.k - 1].first) break;
      ++tied;
      if (!options.query_item.empty() &&
          options.query_item[i] == options.gallery_item[all[n].second]) {
        ++relevant;
      }
    }
    result.tied_beyond.push_back(tied);
    result.tied_beyond_relevant.push_back(relevant);
  }
  return result;
}

}  // namespace seam::stages::retrieval_test
