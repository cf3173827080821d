#include "stages/retrieval/recall_at_k.hpp"

#include <algorithm>
#include <cmath>
#include <seam/error.hpp>

namespace seam::stages {
namespace {

std::vector<double> shares(const std::vector<std::int64_t>& hits, std::int64_t of) {
  std::vector<double> result;
  for (const std::int64_t count : hits) {
    result.push_back(static_cast<double>(count) / static_cast<double>(of));
  }
  return result;
}

std::int64_t listed_in(const RankedQuery& query) {
  return std::find(query.items.begin(), query.items.end(), -1) - query.items.begin();
}

/// The neighbours grouped by distance; the last group includes ties that the search cut off.
std::vector<TieBlock> blocks_of(const RankedQuery& query) {
  std::vector<TieBlock> blocks;
  const std::int64_t listed = listed_in(query);
  for (std::int64_t i = 0; i < listed; ++i) {
    if (i == 0 || query.distances[i] != query.distances[i - 1]) blocks.push_back({i, 0, 0});
    ++blocks.back().size;
    if (query.items[i] == query.item) ++blocks.back().relevant;
  }
  if (!blocks.empty()) {
    blocks.back().size += query.tied_beyond;
    blocks.back().relevant += query.tied_beyond_relevant;
  }
  return blocks;
}

/// The ranks, from 0, of relevant images, up to `most`.
std::vector<std::int64_t> hits_by_row(const RankedQuery& query, std::int64_t most) {
  std::vector<std::int64_t> hits;
  for (std::int64_t i = 0; i < std::min(most, listed_in(query)); ++i) {
    if (query.items[i] == query.item) hits.push_back(i);
  }
  return hits;
}

/// As above, with the relevant images of each tie ranked first, or last. These are the bounds over
/// all orders of ties, since every metric increases if a hit moves forward.
std::vector<std::int64_t> hits_with_luck(const std::vector<TieBlock>& blocks, std::int64_t most) {
  std::vector<std::int64_t> hits;
  for (const TieBlock& block : blocks) {
    for (std::int64_t i = block.start; i < std::min(most, block.start + block.relevant); ++i) {
      hits.push_back(i);
    }
  }
  return hits;
}

std::vector<std::int64_t> hits_without_luck(const std::vector<TieBlock>& blocks,
                                            std::int64_t most) {
  std::vector<std::int64_t> hits;
  for (const TieBlock& block : blocks) {
    const std::int64_t end = block.start + block.size;
    for (std::int64_t i = end - block.relevant; i < std::min(most, end); ++i) hits.push_back(i);
  }
  return hits;
}

}  // namespace

RankingMetrics::RankingMetrics(std::vector<std::int64_t> ks) : ks_(std::move(ks)) {
  for (const RankingMean& mean : ranking_means) (sums_.*mean.values).resize(ks_.size());
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
  for (const RankingMean& mean : ranking_means) {
    for (double& value : means.*mean.values) {
      value /= static_cast<double>(std::max<std::int64_t>(queries_, 1));
    }
  }
  return means;
}

double chance_of_hit(std::int64_t gallery, std::int64_t relevant, std::int64_t k) {
  if (relevant < 1) return 0;
  double miss = 1;
  for (std::int64_t rank = 0; rank < k; ++rank) {
    if (gallery - relevant - rank < 1) return 1;
    miss *= static_cast<double>(gallery - relevant - rank) / static_cast<double>(gallery - rank);
  }
  return 1 - miss;
}

RecallCounter::RecallCounter(std::vector<std::int64_t> ks, LoneQueries policy)
    : ks_(std::move(ks)), policy_(policy) {
  std::sort(ks_.begin(), ks_.end());
  ks_.erase(std::unique(ks_.begin(), ks_.end()), ks_.end());
  if (ks_.empty() || ks_.front() < 1) {
    throw Error("recall@K needs at least one K, each 1 or more", Fault::configuration);
  }
  hits_.resize(ks_.size());
  optimistic_.resize(ks_.size());
  pessimistic_.resize(ks_.size());
  ranking_ = RankingMetrics(ks_);
}

std::optional<QueryScore> RecallCounter::add(const RankedQuery& query) {
  if (static_cast<std::int64_t>(query.items.size()) < largest_k() ||
      query.items.size() != query.distances.size()) {
    throw Error("recall@" + std::to_string(largest_k()) +
                    " needs as many neighbours, but the search found only " +
                    std::to_string(query.items.size()) + "; raise its k",
                Fault::configuration);
  }
  ++queries_;
  ItemHits& of_item = by_item_[query.item];
  of_item.hits.resize(ks_.size());
  if (query.relevant == 0) {
    ++lone_;
    if (policy_ == LoneQueries::leave_out) return std::nullopt;
  }
  ++counted_;
  ++of_item.queries;
  ++by_difficulty_[{query.searched, query.searched_relevant.value_or(query.relevant)}];
  const std::vector<TieBlock> blocks = blocks_of(query);
  QueryScore score;
  score.first_hit = add_recall(query, blocks);
  const RankSums ranks = add_ranks(query, blocks);
  score.mrr = ranks.mrr;
  score.r_precision = ranks.r_precision;
  score.map_at_r = ranks.map_at_r;
  return score;
}

/// The rank of the first hit.
std::optional<std::int64_t> RecallCounter::add_recall(const RankedQuery& query,
                                                      const std::vector<TieBlock>& blocks) {
  ItemHits& of_item = by_item_[query.item];
  CategoryHits& of_category = by_category_[query.category];
  of_category.hits.resize(ks_.size());
  ++of_category.queries;
  of_category.items.insert(query.item);
  const std::vector<std::int64_t> hits = hits_by_row(query, largest_k());
  ranking_.add(hits, query.relevant);
  const auto block = std::ranges::find_if(blocks, [](const TieBlock& b) { return b.relevant > 0; });
  const bool found = block != blocks.end();
  for (std::size_t i = 0; i < ks_.size(); ++i) {
    const std::int64_t hit = !hits.empty() && hits.front() < ks_[i] ? 1 : 0;
    hits_[i] += hit;
    of_item.hits[i] += hit;
    of_category.hits[i] += hit;
    optimistic_[i] += found && block->start < ks_[i] ? 1 : 0;
    pessimistic_[i] += found && block->start + block->size - block->relevant < ks_[i] ? 1 : 0;
  }
  return hits.empty() ? std::nullopt : std::optional(hits.front());
}

/// The rank-based metrics of a query: MRR up to the largest K, the others up to the number of
/// relevant images.
RecallCounter::RankSums RecallCounter::add_ranks(const RankedQuery& query,
                                                 const std::vector<TieBlock>& blocks) {
  if (query.relevant > static_cast<std::int64_t>(query.items.size())) {
    all_relevant_in_reach_ = false;
  }
  const std::int64_t most = std::max(largest_k(), query.relevant);
  const RankSums of_query = ranks_of(query, hits_by_row(query, most));
  by_row_ += of_query;
  by_item_[query.item].ranks += of_query;
  lucky_ += ranks_of(query, hits_with_luck(blocks, most));
  unlucky_ += ranks_of(query, hits_without_luck(blocks, most));
  return of_query;
}

RecallCounter::RankSums RecallCounter::ranks_of(const RankedQuery& query,
                                                const std::vector<std::int64_t>& hits) const {
  RankSums sums;
  if (!hits.empty() && hits.front() < largest_k()) {
    sums.mrr = 1.0 / static_cast<double>(hits.front() + 1);
  }
  std::int64_t before = 0;
  for (const std::int64_t rank : hits) {
    if (rank >= query.relevant) break;
    ++before;
    sums.map_at_r += static_cast<double>(before) / static_cast<double>(rank + 1);
  }
  if (query.relevant > 0) {
    sums.r_precision = static_cast<double>(before) / static_cast<double>(query.relevant);
    sums.map_at_r /= static_cast<double>(query.relevant);
  }
  return sums;
}

Bounded RecallCounter::mean(double RankSums::*sum) const {
  const auto counted = static_cast<double>(counted_);
  return {by_row_.*sum / counted, unlucky_.*sum / counted, lucky_.*sum / counted};
}

/// The standard errors and intervals of recall and of the rank-based metrics.
void RecallCounter::add_errors(RecallResult& result) const {
  std::vector<ClusterSums> items;
  items.reserve(by_item_.size());
  for (const auto& [item, sums] : by_item_) {
    ClusterSums& of_item = items.emplace_back();
    of_item.observations = sums.queries;
    of_item.sums.assign(sums.hits.begin(), sums.hits.end());
    const RankSums& ranks = sums.ranks;
    of_item.sums.insert(of_item.sums.end(), {ranks.mrr, ranks.r_precision, ranks.map_at_r});
  }
  const std::vector<ConfidenceInterval> intervals = bootstrap_intervals(items);
  if (intervals.empty()) return;  // of one item: its deviation from the mean is 0 by construction
  const auto of_metric = [&](std::size_t metric, double mean) {
    double squares = 0;
    for (const ClusterSums& item : items) {
      const double deviation = item.sums[metric] - static_cast<double>(item.observations) * mean;
      squares += deviation * deviation;
    }
    return Uncertainty{std::sqrt(squares) / static_cast<double>(counted_), intervals[metric]};
  };
  for (std::size_t i = 0; i < ks_.size(); ++i) {
    const Uncertainty of_recall = of_metric(i, result.recall[i]);
    result.standard_error.push_back(*of_recall.standard_error);
    result.interval.push_back(*of_recall.interval);
  }
  result.mrr_uncertainty = of_metric(ks_.size(), result.mrr.value);
  if (!all_relevant_in_reach_) return;
  result.r_precision_uncertainty = of_metric(ks_.size() + 1, result.r_precision->value);
  result.map_at_r_uncertainty = of_metric(ks_.size() + 2, result.map_at_r->value);
}

std::vector<double> RecallCounter::chance() const {
  std::vector<double> chances(ks_.size());
  for (const auto& [difficulty, queries] : by_difficulty_) {
    const auto [searched, relevant] = difficulty;
    if (relevant < 1) continue;  // its item is in no order
    if (searched < 1) return {};
    for (std::size_t i = 0; i < ks_.size(); ++i) {
      chances[i] += static_cast<double>(queries) * chance_of_hit(searched, relevant, ks_[i]) /
                    static_cast<double>(counted_);
    }
  }
  return chances;
}

RecallResult RecallCounter::result() const {
  if (queries_ == 0) throw Error("no query was received, so there is no recall to report");
  if (lone_ == queries_) {
    throw Error("no query can be scored: the gallery has no item of the " +
                std::to_string(queries_) + (queries_ == 1 ? " query" : " queries") +
                ". Are queries and gallery from the same data set, with the same item names?");
  }
  RecallResult result;
  result.ks = ks_;
  result.queries = queries_;
  result.lone_queries = lone_;
  result.query_items = static_cast<std::int64_t>(by_item_.size());
  result.lone_policy = policy_;
  result.recall = shares(hits_, counted_);
  result.optimistic = shares(optimistic_, counted_);
  result.pessimistic = shares(pessimistic_, counted_);
  result.ranking = ranking_.means();
  result.chance = chance();
  if (all_relevant_in_reach_) {
    result.r_precision = mean(&RankSums::r_precision);
    result.map_at_r = mean(&RankSums::map_at_r);
  }
  result.mrr = mean(&RankSums::mrr);
  add_errors(result);
  for (const auto& [category, sums] : by_category_) {
    result.by_category[category] = {sums.queries, static_cast<std::int64_t>(sums.items.size()),
                                    shares(sums.hits, sums.queries)};
  }
  return result;
}

}  // namespace seam::stages
