#include "stages/retrieval/recall_at_k.hpp"

#include <algorithm>
#include <cmath>
#include <seam/error.hpp>
#include <utility>

namespace seam::stages {
namespace {

std::vector<double> shares(const std::vector<std::int64_t>& hits, std::int64_t of) {
  std::vector<double> result;
  for (const std::int64_t count : hits) {
    result.push_back(of == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(of));
  }
  return result;
}

}  // namespace

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
  relevant_found_.resize(ks_.size());
}

void RecallCounter::add(const RankedQuery& query) {
  if (static_cast<std::int64_t>(query.items.size()) < largest_k() ||
      query.items.size() != query.distances.size()) {
    throw Error("recall@" + std::to_string(largest_k()) +
                    " needs as many neighbours; the search found " +
                    std::to_string(query.items.size()) + ". Raise its k",
                Fault::configuration);
  }
  ++queries_;
  ItemHits& of_item = by_item_[query.item];
  of_item.hits.resize(ks_.size());
  if (query.relevant == 0) {
    ++lone_;
    if (policy_ == LoneQueries::leave_out) return;
  }
  ++counted_;
  ++of_item.queries;
  CategoryHits& of_category = by_category_[query.category];
  of_category.hits.resize(ks_.size());
  ++of_category.queries;

  const std::int64_t listed =
      std::find(query.items.begin(), query.items.end(), -1) - query.items.begin();
  const std::int64_t first =
      std::find(query.items.begin(), query.items.begin() + listed, query.item) -
      query.items.begin();
  const bool found = first < listed;
  const float last = listed > 0 ? query.distances[listed - 1] : 0.0F;

  // How many irrelevant images could stand before the first relevant one.
  std::int64_t worst_rank = 0;
  if (found) {
    const float distance = query.distances[first];
    for (std::int64_t i = 0; i < listed && query.distances[i] <= distance; ++i) {
      worst_rank += query.items[i] != query.item ? 1 : 0;
    }
    if (distance == last) worst_rank += query.tied_beyond - query.tied_beyond_relevant;
  }

  for (std::size_t i = 0; i < ks_.size(); ++i) {
    const std::int64_t reach = std::min(ks_[i], listed);
    const bool hit = first < reach;
    bool lucky = hit;
    if (reach > 0) {
      const float cut = query.distances[reach - 1];
      lucky = lucky || (found && query.distances[first] <= cut) ||
              (cut == last && query.tied_beyond_relevant > 0);
    }
    hits_[i] += hit ? 1 : 0;
    optimistic_[i] += lucky ? 1 : 0;
    pessimistic_[i] += found && worst_rank < ks_[i] ? 1 : 0;
    relevant_found_[i] += std::count(query.items.begin(), query.items.begin() + reach, query.item);
    of_item.hits[i] += hit ? 1 : 0;
    of_category.hits[i] += hit ? 1 : 0;
  }
  if (found) mrr_ += 1.0 / static_cast<double>(first + 1);
  add_ranks(query, listed);
}

/// The metrics that look as far as there are relevant images.
void RecallCounter::add_ranks(const RankedQuery& query, std::int64_t listed) {
  if (query.relevant == 0) return;
  if (query.relevant > static_cast<std::int64_t>(query.items.size())) {
    all_relevant_in_reach_ = false;
    return;
  }
  std::int64_t hits = 0;
  double precisions = 0;
  for (std::int64_t i = 0; i < std::min(query.relevant, listed); ++i) {
    if (query.items[i] != query.item) continue;
    ++hits;
    precisions += static_cast<double>(hits) / static_cast<double>(i + 1);
  }
  r_precision_ += static_cast<double>(hits) / static_cast<double>(query.relevant);
  map_at_r_ += precisions / static_cast<double>(query.relevant);
}

RecallResult RecallCounter::result() const {
  RecallResult result;
  result.ks = ks_;
  result.queries = queries_;
  result.lone_queries = lone_;
  result.query_items = static_cast<std::int64_t>(by_item_.size());
  result.lone_policy = policy_;
  result.recall = shares(hits_, counted_);
  result.optimistic = shares(optimistic_, counted_);
  result.pessimistic = shares(pessimistic_, counted_);
  const double counted = static_cast<double>(std::max<std::int64_t>(counted_, 1));
  for (std::size_t i = 0; i < ks_.size(); ++i) {
    result.precision.push_back(static_cast<double>(relevant_found_[i]) /
                               (counted * static_cast<double>(ks_[i])));
    double squares = 0;
    for (const auto& [item, sums] : by_item_) {
      const double deviation =
          static_cast<double>(sums.hits[i]) - static_cast<double>(sums.queries) * result.recall[i];
      squares += deviation * deviation;
    }
    result.standard_error.push_back(std::sqrt(squares) / counted);
  }
  if (all_relevant_in_reach_) {
    result.r_precision = r_precision_ / counted;
    result.map_at_r = map_at_r_ / counted;
  }
  result.mrr = mrr_ / counted;
  for (const auto& [category, sums] : by_category_) {
    result.by_category[category] = {sums.queries, shares(sums.hits, sums.queries)};
  }
  return result;
}

}  // namespace seam::stages
