#include "stages/retrieval/sequences.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <seam/error.hpp>
#include <utility>

namespace seam::stages {
namespace {

using retrieval::Neighbours;

/// Adds a query's row to `result`; returns false if more neighbours are needed to determine ties.
bool add_query(Neighbours& result, const Neighbours& found, std::size_t query,
               const std::vector<std::int64_t>& left_out, const ShownItems& items) {
  const auto k = static_cast<std::size_t>(result.k);
  const auto asked = static_cast<std::size_t>(found.k);
  std::size_t kept = 0;
  float farthest = std::numeric_limits<float>::infinity();
  std::int64_t tied = 0;
  std::int64_t tied_relevant = 0;
  for (std::size_t i = query * asked; i < (query + 1) * asked && found.rows[i] >= 0; ++i) {
    const std::int64_t row = found.rows[i];
    if (std::ranges::binary_search(left_out, row)) continue;
    if (kept < k) {
      result.rows.push_back(row);
      result.distances.push_back(found.distances[i]);
      farthest = found.distances[i];
      ++kept;
    } else if (found.distances[i] == farthest) {
      ++tied;
      if (items.of_rows[static_cast<std::size_t>(row)] == items.of_queries[query]) ++tied_relevant;
    } else {
      break;
    }
  }
  const float last = found.distances[(query + 1) * asked - 1];
  if (found.tied_beyond[query] > 0 && (kept < k || last == farthest)) return false;
  result.rows.resize((query + 1) * k, -1);
  result.distances.resize((query + 1) * k, std::numeric_limits<float>::infinity());
  result.tied_beyond.push_back(tied);
  result.tied_beyond_relevant.push_back(tied_relevant);
  return true;
}

std::optional<Neighbours> without(const LeftOut& left_out, std::int64_t k, const ShownItems& items,
                                  const Neighbours& found) {
  Neighbours result;
  result.queries = found.queries;
  result.k = k;
  for (std::size_t query = 0; query < left_out.size(); ++query) {
    if (!add_query(result, found, query, left_out[query], items)) return std::nullopt;
  }
  return result;
}

}  // namespace

Sequences::Sequences(std::span<const std::string> of_rows) {
  for (std::size_t row = 0; row < of_rows.size(); ++row) {
    if (!of_rows[row].empty()) rows_[of_rows[row]].push_back(static_cast<std::int64_t>(row));
  }
}

std::span<const std::int64_t> Sequences::rows_of(std::string_view sequence) const {
  const auto found = rows_.find(sequence);
  if (found == rows_.end()) return {};
  return found->second;
}

Neighbours nearest_without(const LeftOut& left_out, std::int64_t k, const ShownItems& items,
                           const std::function<Neighbours(std::int64_t k)>& search) {
  std::size_t most = 0;
  for (const std::vector<std::int64_t>& rows : left_out) most = std::max(most, rows.size());
  // With all rows found, nothing is tied beyond them.
  const auto all = std::max(k, static_cast<std::int64_t>(items.of_rows.size()));
  for (std::int64_t ask = std::min(all, k + static_cast<std::int64_t>(most));;
       ask = std::min(all, 2 * ask)) {
    if (auto result = without(left_out, k, items, search(ask))) return std::move(*result);
    if (ask == all) {
      throw Error("the gallery reports tied neighbours beyond all of its rows", Fault::internal);
    }
  }
}

}  // namespace seam::stages
