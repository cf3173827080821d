#include "stages/retrieval/ranking_metrics.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace seam::stages {
namespace {

constexpr std::vector<double> RankingMeans::*all[] = {
    &RankingMeans::ir_recall,    &RankingMeans::precision,  &RankingMeans::precision_capped,
    &RankingMeans::map_relevant, &RankingMeans::map_capped, &RankingMeans::map_found};

}  // namespace

RankingMetrics::RankingMetrics(std::vector<std::int64_t> ks) : ks_(std::move(ks)) {
  for (const auto metric : all) (sums_.*metric).resize(ks_.size());
}

void RankingMetrics::add(const std::vector<std::int64_t>& hits, std::int64_t relevant) {
  ++queries_;
  if (relevant == 0) return;
  for (std::size_t i = 0; i < ks_.size(); ++i) {
    double found = 0;
    double precisions = 0;
    for (const std::int64_t rank : hits) {
      if (rank >= ks_[i]) break;
      ++found;
      precisions += found / static_cast<double>(rank + 1);
    }
    const auto all_relevant = static_cast<double>(relevant);
    const auto capped = static_cast<double>(std::min(ks_[i], relevant));
    sums_.ir_recall[i] += found / all_relevant;
    sums_.precision[i] += found / static_cast<double>(ks_[i]);
    sums_.precision_capped[i] += found / capped;
    sums_.map_relevant[i] += precisions / all_relevant;
    sums_.map_capped[i] += precisions / capped;
    if (found > 0) sums_.map_found[i] += precisions / found;
  }
}

RankingMeans RankingMetrics::means() const {
  RankingMeans means = sums_;
  for (const auto metric : all) {
    for (double& value : means.*metric) {
      value /= static_cast<double>(std::max<std::int64_t>(queries_, 1));
    }
  }
  return means;
}

}  // namespace seam::stages
