/// Recall@K and its relatives over the ranked gallery of each query.
///
///     query of item 7:   7  3  7  9 | 7      hit at rank 1: counts for every K
///                        └ k nearest ┘└─ tied with the last, cut off
///
/// Recall@K is the hit rate of deep metric learning papers: 1 for a query if any of its K nearest
/// shows its item, averaged over queries (images, not items). Neighbours at equal distance are
/// ranked by gallery row; the two bounds are the recall with the best and the worst order of ties.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <seam/bootstrap.hpp>
#include <set>
#include <string_view>
#include <utility>

namespace seam::stages {

/// Information retrieval metrics at K, which differ from the hit rate of recall@K.
///
///     R = 3, hits at ranks 1 and 4, K = 5:
///       ir_recall  2/3    precision  2/5    precision_capped  2/3
///       AP: (1/1 + 2/4) / 3 of the relevant, / min(K, R) capped, / 2 of those found
///
/// Other programs use the same names with different denominators: precision@K divides by K in
/// pytorch-metric-learning and by min(K, R) in OML, mean average precision by R or min(K, R) in
/// TensorFlow Similarity and by the hits found in OML, where one early hit is a score of 1.
///
/// Means over queries; all vectors are as long as `ks`. Fractions from 0 to 1.
struct RankingMeans {
  std::vector<double> ir_recall;         ///< found / R
  std::vector<double> precision;         ///< found / K
  std::vector<double> precision_capped;  ///< found / min(K, R)
  std::vector<double> map_relevant;      ///< sum of precision@i at hits i <= K, / R
  std::vector<double> map_capped;        ///< ... / min(K, R)
  std::vector<double> map_found;         ///< ... / hits among the K; 0 without hits
};

/// A mean in reports.
struct RankingMean {
  std::string_view metric;
  std::string_view meaning;
  std::vector<double> RankingMeans::*values;
};
inline constexpr std::array<RankingMean, 6> ranking_means{{
    {"ir_recall", "found of R", &RankingMeans::ir_recall},
    {"precision", "found of K", &RankingMeans::precision},
    {"precision_capped", "found of min(K, R)", &RankingMeans::precision_capped},
    {"map_relevant", "MAP over R", &RankingMeans::map_relevant},
    {"map_capped", "MAP over min(K, R)", &RankingMeans::map_capped},
    {"map_found", "MAP over those found", &RankingMeans::map_found},
}};

class RankingMetrics {
 public:
  RankingMetrics() = default;
  explicit RankingMetrics(std::vector<std::int64_t> ks);
  /// The ranks of a query's hits, from 0, ascending, at least up to the largest K; `relevant` is R.
  /// A query with R = 0 counts as 0 in all means.
  void add(const std::vector<std::int64_t>& hits, std::int64_t relevant);
  /// The means over the queries so far; zeros without queries.
  [[nodiscard]] RankingMeans means() const;

 private:
  std::vector<std::int64_t> ks_;
  std::int64_t queries_ = 0;
  RankingMeans sums_;
};

///     gallery of 5, 2 relevant, in random order:   . x . . x     do the first k contain one?
///
/// The score without a model: the probability that a random order of `gallery` images, of which
/// `relevant` are right, has one of these among the first k. 1 if there are fewer than k others.
[[nodiscard]] double chance_of_hit(std::int64_t gallery, std::int64_t relevant, std::int64_t k);

/// How to treat a query whose item is not in the gallery.
enum class LoneQueries : std::uint8_t {
  leave_out,  ///< excluded from all means
  miss,       ///< counted as never found
};

/// One query's result.
struct RankedQuery {
  std::span<const std::int64_t> items;  ///< of its k nearest, nearest first; -1 past the end
  std::span<const float> distances;     ///< the same length
  std::int64_t tied_beyond = 0;  ///< images that were cut off at the same distance as the last
  std::int64_t tied_beyond_relevant = 0;
  std::int64_t relevant = 0;  ///< R: all gallery images of its item, except itself
  std::int64_t item = 0;
  std::int64_t category = -1;  ///< -1: unknown
  std::int64_t searched = 0;   ///< gallery images that it could find; 0: unknown
  /// Those of `searched` that show its item, if a label narrows the search; nullopt: `relevant`.
  std::optional<std::int64_t> searched_relevant;
};

/// The scores of one query, with ties ranked by gallery row.
struct QueryScore {
  std::optional<std::int64_t> first_hit;  ///< its rank, from 0; nullopt: not among the largest K
  double mrr = 0;                         ///< this and the following as in RecallResult
  double r_precision = 0;
  double map_at_r = 0;
};

/// Neighbours of one query at the same distance, including those beyond the cut.
struct TieBlock {
  std::int64_t start = 0;  ///< number of nearer neighbours
  std::int64_t size = 0;
  std::int64_t relevant = 0;
};

struct CategoryRecall {
  std::int64_t queries = 0;
  std::int64_t items = 0;      ///< number of distinct items among the queries
  std::vector<double> recall;  ///< for each K
};

/// A mean over queries with ties ranked by gallery row, and with the best and the worst order of
/// each query's ties.
struct Bounded {
  double value = 0;
  double pessimistic = 0;
  double optimistic = 0;
};

/// The uncertainty of a mean; unknown if the scored queries show fewer than two items.
struct Uncertainty {
  std::optional<double> standard_error;
  std::optional<ConfidenceInterval> interval;
};

/// Fractions from 0 to 1; all vectors are as long as `ks`.
struct RecallResult {
  std::vector<std::int64_t> ks;
  std::int64_t queries = 0;       ///< all, including lone ones
  std::int64_t lone_queries = 0;  ///< those with R = 0
  std::int64_t query_items = 0;   ///< number of distinct items among the queries
  LoneQueries lone_policy = LoneQueries::leave_out;

  std::vector<double> recall;  ///< ties ranked by gallery row
  std::vector<double> optimistic;
  std::vector<double> pessimistic;
  /// Of `recall`, with the queries of one item treated as one observation (cluster-robust): images
  /// of one item succeed and fail together, so counting them separately would underestimate the
  /// error. Empty if the scored queries show fewer than two items.
  std::vector<double> standard_error;
  /// Of `recall`, by bootstrap over items; empty as above.
  std::vector<ConfidenceInterval> interval;
  /// The score of a random order of the gallery, or of the part that a label leaves; empty if its
  /// size is unknown.
  std::vector<double> chance;
  RankingMeans ranking;  ///< ties ranked by gallery row
  /// Relevant among the first R, divided by R; nullopt if an R exceeds the number of neighbours.
  std::optional<Bounded> r_precision;
  /// (1/R) sum over ranks i <= R of precision@i at hits (Musgrave et al. 2020, eq. 2); as above.
  std::optional<Bounded> map_at_r;
  /// MRR@K for the largest K: 1 / rank of the first hit, 0 if it is not among the K. Independent of
  /// how many more neighbours the search returned.
  Bounded mrr;
  /// Of `recall` at this position of `ks`.
  [[nodiscard]] Uncertainty uncertainty(std::size_t place) const {
    Uncertainty found;
    if (!standard_error.empty()) found.standard_error = standard_error.at(place);
    if (!interval.empty()) found.interval = interval.at(place);
    return found;
  }
  /// The uncertainty of the three values above; computed as for `recall`.
  Uncertainty mrr_uncertainty;
  Uncertainty r_precision_uncertainty;
  Uncertainty map_at_r_uncertainty;
  std::map<std::int64_t, CategoryRecall> by_category;
};

/// Receives queries one by one; their order only affects the last bits of means.
class RecallCounter {
 public:
  /// Sorts `ks` and removes duplicates. Throws seam::Error if a K is below 1 or `ks` is empty.
  explicit RecallCounter(std::vector<std::int64_t> ks, LoneQueries policy = LoneQueries::leave_out);

  /// The largest K: the number of neighbours that a query must have.
  [[nodiscard]] std::int64_t largest_k() const { return ks_.back(); }

  /// In ascending order.
  [[nodiscard]] std::span<const std::int64_t> ks() const { return ks_; }

  /// Returns nullopt if the query is left out. Throws seam::Error if fewer than largest_k()
  /// neighbours are given.
  std::optional<QueryScore> add(const RankedQuery& query);

  /// Throws seam::Error (Fault::data) if no query can be scored: there were none, or none has its
  /// item in the gallery.
  [[nodiscard]] RecallResult result() const;

 private:
  struct RankSums {
    double r_precision = 0;
    double map_at_r = 0;
    double mrr = 0;

    RankSums& operator+=(const RankSums& other) {
      r_precision += other.r_precision;
      map_at_r += other.map_at_r;
      mrr += other.mrr;
      return *this;
    }
  };
  struct ItemHits {
    std::int64_t queries = 0;
    std::vector<std::int64_t> hits;
    RankSums ranks;
  };
  struct CategoryHits {
    std::int64_t queries = 0;
    std::set<std::int64_t> items;
    std::vector<std::int64_t> hits;
  };

  std::optional<std::int64_t> add_recall(const RankedQuery& query,
                                         const std::vector<TieBlock>& blocks);
  RankSums add_ranks(const RankedQuery& query, const std::vector<TieBlock>& blocks);
  [[nodiscard]] RankSums ranks_of(const RankedQuery& query,
                                  const std::vector<std::int64_t>& hits) const;
  [[nodiscard]] Bounded mean(double RankSums::*sum) const;
  void add_errors(RecallResult& result) const;
  [[nodiscard]] std::vector<double> chance() const;

  std::vector<std::int64_t> ks_;
  LoneQueries policy_;
  std::int64_t queries_ = 0;
  std::int64_t lone_ = 0;
  std::int64_t counted_ = 0;
  std::vector<std::int64_t> hits_;
  std::vector<std::int64_t> optimistic_;
  std::vector<std::int64_t> pessimistic_;
  RankingMetrics ranking_;
  bool all_relevant_in_reach_ = true;
  RankSums by_row_;
  RankSums lucky_;
  RankSums unlucky_;
  std::map<std::int64_t, ItemHits> by_item_;
  std::map<std::int64_t, CategoryHits> by_category_;
  /// The number of queries for each (searched, relevant).
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> by_difficulty_;
};

}  // namespace seam::stages
