/// Information retrieval metrics at K, which differ from the hit rate of recall_at_k.hpp.
///
///     R = 3, hits at ranks 1 and 4, K = 5:
///       ir_recall  2/3    precision  2/5    precision_capped  2/3
///       AP: (1/1 + 2/4) / 3 of the relevant, / min(K, R) capped, / 2 of those found
///
/// Other programs use the same names with different denominators: precision@K divides by K in
/// pytorch-metric-learning and by min(K, R) in OML, mean average precision by R or min(K, R) in
/// TensorFlow Similarity and by the hits found in OML, where one early hit is a score of 1.
#pragma once

#include <cstdint>
#include <vector>

namespace seam::stages {

/// Means over queries; all vectors are as long as `ks`. Fractions from 0 to 1.
struct RankingMeans {
  std::vector<double> ir_recall;         ///< found / R
  std::vector<double> precision;         ///< found / K
  std::vector<double> precision_capped;  ///< found / min(K, R)
  std::vector<double> map_relevant;      ///< sum of precision@i at hits i <= K, / R
  std::vector<double> map_capped;        ///< ... / min(K, R)
  std::vector<double> map_found;         ///< ... / hits among the K; 0 without hits
};

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

}  // namespace seam::stages
