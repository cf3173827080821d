#include "pipeline/experiments/paired.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "pipeline/experiments/outcomes.hpp"
#include "seam/bootstrap.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

/// Observations measured by several runs, and the run that represents them in messages.
struct Measured {
  std::string run;
  Outcomes outcomes;
};

[[noreturn]] void refuse_pairing(const std::string& one, const std::string& other,
                                 const std::string& why) {
  throw Error(
      fmt::format("'{}' and '{}' cannot be paired: {}; only runs evaluated on the same list can",
                  one, other, why),
      Fault::data);
}

/// Both are sorted by name.
void check_same(const Measured& one, const Measured& other) {
  auto a = one.outcomes.begin();
  auto b = other.outcomes.begin();
  for (; a != one.outcomes.end() || b != other.outcomes.end(); ++a, ++b) {
    const bool only_b = a == one.outcomes.end();
    const bool only_a = b == other.outcomes.end();
    if (only_a || only_b || a->first != b->first) {
      const bool of_a = only_a || (!only_b && a->first < b->first);
      refuse_pairing(one.run, other.run,
                     fmt::format("only '{}' measured '{}'", of_a ? one.run : other.run,
                                 of_a ? a->first : b->first));
    }
    if (a->second.cluster != b->second.cluster) {
      refuse_pairing(one.run, other.run,
                     fmt::format("'{}' belongs to '{}' in one and to '{}' in the other", a->first,
                                 a->second.cluster, b->second.cluster));
    }
    if (a->second.value.has_value() != b->second.value.has_value()) {
      refuse_pairing(one.run, other.run,
                     fmt::format("'{}' counts in the mean of only '{}'", a->first,
                                 a->second.value ? one.run : other.run));
    }
  }
}

bool measure_the_same(const Measured& one, const Measured& other) {
  const auto name = [](const auto& outcome) -> const std::string& { return outcome.first; };
  return std::ranges::equal(one.outcomes, other.outcomes, {}, name, name);
}

/// Adds the values of `other`, which must have the same observations, to those of `sum`.
void add(Measured& sum, const Measured& other) {
  check_same(sum, other);
  auto added = other.outcomes.begin();
  for (auto& [name, outcome] : sum.outcomes) {
    if (outcome.value) *outcome.value += *added->second.value;
    ++added;
  }
}

void divide(Measured& sum, std::size_t count) {
  for (auto& [name, outcome] : sum.outcomes) {
    if (outcome.value) *outcome.value /= static_cast<double>(count);
  }
}

/// The mean of each observation over the runs of the group. Folds measure either different
/// observations, or, if only their training differs, all of them the same.
Measured measured_by(const Group& group, const std::string& metric) {
  struct Fold {
    Measured measured;  // sums until all runs are added
    std::size_t runs = 0;
  };
  std::map<Parameters, Fold> folds;
  for (const GroupMember& member : group.members) {
    Measured own{member.name, read_outcomes(member.outcomes, {metric, member.value, member.epoch})};
    Parameters of_fold = member.replicate;
    of_fold.erase("pipeline.seed");
    Fold& fold = folds[of_fold];
    if (fold.runs++ == 0) {
      fold.measured = std::move(own);
      continue;
    }
    add(fold.measured, own);
  }
  for (auto& [parameters, fold] : folds) divide(fold.measured, fold.runs);
  Measured all = std::move(folds.begin()->second.measured);
  const bool one_list = std::all_of(std::next(folds.begin()), folds.end(), [&](const auto& fold) {
    return measure_the_same(all, fold.second.measured);
  });
  for (auto fold = std::next(folds.begin()); fold != folds.end(); ++fold) {
    Measured& measured = fold->second.measured;
    if (one_list) {
      add(all, measured);
      continue;
    }
    for (auto& [name, outcome] : measured.outcomes) {
      if (all.outcomes.emplace(name, std::move(outcome)).second) continue;
      refuse_pairing(all.run, measured.run,
                     fmt::format("both measured '{}', but folds must measure either all the same "
                                 "observations or none in common",
                                 name));
    }
  }
  if (one_list) divide(all, folds.size());
  return all;
}

DifferenceToBest paired_difference(const Measured& group, const Measured& best) {
  check_same(best, group);
  std::map<std::string, ClusterSums> by_cluster;  // sorted by name, regardless of the files' order
  double sum = 0;
  DifferenceToBest difference;
  auto other = best.outcomes.begin();
  for (const auto& [name, outcome] : group.outcomes) {
    const Outcome& of_best = (other++)->second;
    if (!outcome.value) continue;
    const double value = *outcome.value - *of_best.value;
    ClusterSums& sums = by_cluster[outcome.cluster];
    if (sums.sums.empty()) sums.sums.push_back(0);
    ++sums.observations;
    sums.sums.front() += value;
    sum += value;
    ++difference.pairs;
  }
  difference.clusters = by_cluster.size();
  difference.mean = sum / static_cast<double>(difference.pairs);
  std::vector<ClusterSums> clusters;
  for (auto& [name, sums] : by_cluster) clusters.push_back(std::move(sums));
  const std::vector<ConfidenceInterval> intervals = bootstrap_intervals(clusters);
  if (!intervals.empty()) difference.bounds = Bounds{intervals[0].low, intervals[0].high};
  return difference;
}

}  // namespace

void pair_observations(Ranking& ranking, const std::string& metric) {
  const std::string name = metric.substr(metric.find('.') + 1);
  if (ranking.groups.size() < 2 || std::isnan(ranking.groups.front().mean)) return;
  const Measured best = measured_by(ranking.groups.front(), name);
  for (std::size_t at = 1; at < ranking.groups.size(); ++at) {
    Group& group = ranking.groups[at];
    if (std::isnan(group.mean)) continue;
    group.difference = paired_difference(measured_by(group, name), best);
  }
}

}  // namespace seam::host
