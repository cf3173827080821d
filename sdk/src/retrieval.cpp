#include "seam/retrieval.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "seam/contract.hpp"

namespace seam::retrieval {
namespace {

/// Checks one mask's result for `queries` queries on a gallery of `images`; empty if it is valid.
std::string ranking_problem(const Ranking& ranking, std::size_t queries, std::int64_t images) {
  const Neighbours& found = ranking.neighbours;
  const std::string under = " under mask " + to_string(ranking.mask);
  if (found.k < 1) return "it has no neighbours" + under;
  const auto differs = [&](std::size_t length, std::size_t wanted, const std::string& what) {
    return length == wanted ? std::string()
                            : "it has " + std::to_string(length) + " " + what + under + " where " +
                                  std::to_string(wanted) + " are needed";
  };
  const std::size_t pairs = queries * static_cast<std::size_t>(found.k);
  for (const std::string& problem :
       {differs(static_cast<std::size_t>(found.queries), queries, "queries"),
        differs(found.rows.size(), pairs, "neighbours"),
        differs(found.distances.size(), pairs, "distances"),
        differs(ranking.items.size(), pairs, "item numbers"),
        differs(found.tied_beyond.size(), queries, "counts of ties"),
        differs(found.tied_beyond_relevant.size(), queries, "counts of relevant ties")}) {
    if (!problem.empty()) return problem;
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::int64_t row = found.rows[i];
    if (row < -1 || row >= images) {
      return "it has a neighbour" + under + " at row " + std::to_string(row) + " of a gallery of " +
             std::to_string(images);
    }
    const bool first = i % static_cast<std::size_t>(found.k) == 0;
    const bool rises = first || found.distances[i] >= found.distances[i - 1];
    if (std::isnan(found.distances[i]) || !rises) {
      return "its distances" + under + " are not in ascending order";
    }
    if ((row < 0) != (ranking.items[i] < 0) || (!first && found.rows[i - 1] < 0 && row >= 0)) {
      return "its rows and items" + under + " do not end at the same neighbour";
    }
  }
  const auto no_ties = [](std::int64_t all, std::int64_t relevant) {
    return relevant < 0 || relevant > all;
  };
  for (std::size_t q = 0; q < queries; ++q) {
    if (no_ties(found.tied_beyond[q], found.tied_beyond_relevant[q])) {
      return "its counts of ties" + under + " are impossible";
    }
  }
  return {};
}

}  // namespace

std::string to_string(Mask mask) {
  switch (mask) {
    case Mask::predicted:
      return "predicted";
    case Mask::ground_truth:
      return "ground_truth";
    case Mask::none:
      break;
  }
  return "none";
}

std::string to_string(Metric metric) {
  return metric == Metric::cosine ? "cosine" : "squared_euclidean";
}

std::string to_string(const InputSize& size) {
  if (size.known()) return std::to_string(size.height) + "x" + std::to_string(size.width);
  return size.height < 0 ? "mixed" : "unknown";
}

InputSize together(const InputSize& a, const InputSize& b) {
  return a == b ? a : InputSize{-1, -1};
}

std::string problem_with(const Rankings& rankings) {
  const std::size_t queries = rankings.item.size();
  if (rankings.relevant.size() != queries) {
    return "it has " + std::to_string(queries) + " queries and " +
           std::to_string(rankings.relevant.size()) + " counts of relevant images";
  }
  if (std::ranges::any_of(rankings.relevant, [](std::int64_t count) { return count < 0; })) {
    return "it has a negative count of relevant images";
  }
  for (const std::int64_t item : rankings.item) {
    // -1 stands for the end of a list of neighbours.
    if (item == -1 || item >= rankings.gallery_items) {
      return "it has a query of item " + std::to_string(item) + " for a gallery of " +
             std::to_string(rankings.gallery_items) + " items";
    }
  }
  if (rankings.by_mask.empty()) return "it has no result for any mask";
  for (auto ranking = rankings.by_mask.begin(); ranking != rankings.by_mask.end(); ++ranking) {
    std::string problem = ranking_problem(*ranking, queries, rankings.gallery_images);
    if (!problem.empty()) return problem;
    if (ranking->neighbours.k != rankings.by_mask.front().neighbours.k) {
      return "its masks have different numbers of neighbours";
    }
    if (std::any_of(rankings.by_mask.begin(), ranking,
                    [&](const Ranking& before) { return before.mask == ranking->mask; })) {
      return "it has mask " + to_string(ranking->mask) + " twice";
    }
  }
  return {};
}

}  // namespace seam::retrieval

namespace seam {

std::size_t FieldTraits<retrieval::Rankings>::bytes(const retrieval::Rankings& value) {
  std::size_t total = sizeof(value);
  for (const retrieval::Ranking& ranking : value.by_mask) {
    total += sizeof(ranking) +
             sizeof(std::int64_t) * (ranking.items.size() + ranking.neighbours.rows.size() +
                                     2 * ranking.neighbours.tied_beyond.size()) +
             sizeof(float) * ranking.neighbours.distances.size();
  }
  return total + 2 * sizeof(std::int64_t) * value.item.size();
}

std::string FieldTraits<retrieval::Rankings>::violation(const retrieval::Rankings& value,
                                                        std::string_view contract) {
  std::string problem = problem_with(value);
  if (!problem.empty()) return problem;
  return TensorContract::parse(contract)
      .first_violation("*", {rows(value), value.by_mask.front().neighbours.k})
      .value_or(std::string());
}

}  // namespace seam
