#include "stages/metric/verification_outcomes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace seam::stages {
namespace {

/// Sets of connected people (union-find); each set has the first of its names.
class Acquaintances {
 public:
  void join(const std::string& a, const std::string& b) {
    const std::string_view first = name_of(a);
    const std::string_view second = name_of(b);
    if (first == second) return;
    const auto& [lesser, greater] = std::minmax(first, second);
    called_.insert_or_assign(greater, lesser);
  }

  [[nodiscard]] std::string_view name_of(std::string_view person) {
    for (;;) {
      std::string_view& called = called_.try_emplace(person, person).first->second;
      if (called == person) return person;
      called = called_.at(called);  // shortens the path for the next time
      person = called;
    }
  }

 private:
  std::map<std::string_view, std::string_view> called_;
};

std::string person_of(const Packet& batch, std::size_t row) {
  if (batch.has(field::items) && row < batch[field::items].size() &&
      !batch[field::items][row].empty()) {
    return batch[field::items][row];
  }
  const bool named = batch.has(field::origins) && row < batch[field::origins].size();
  return named ? batch[field::origins][row].item : std::string();
}

/// The contribution of a correctly classified pair to `accuracy`, by fold.
std::map<std::int64_t, double> weights_of(std::span<const FoldAccuracy> folds) {
  std::int64_t pairs = 0;
  for (const FoldAccuracy& fold : folds) pairs += fold.pairs;
  std::map<std::int64_t, double> weights;
  for (const FoldAccuracy& fold : folds) {
    weights[fold.fold] = static_cast<double>(pairs) /
                         (static_cast<double>(folds.size()) * static_cast<double>(fold.pairs));
  }
  return weights;
}

}  // namespace

PairNames pair_names(const Packet& batch, std::size_t first) {
  const std::string a = observation_name(batch, first);
  const std::string b = observation_name(batch, first + 1);
  PairNames names{{}, person_of(batch, first), person_of(batch, first + 1)};
  if (!a.empty() && !b.empty()) names.observation = a + " and " + b;
  return names;
}

PairOutcomes outcomes_of(std::span<const ScoredPair> pairs, std::span<const PairNames> names,
                         const VerificationResult& result, const VerificationSettings& settings) {
  PairOutcomes all;
  if (!result.folds.empty()) all.metrics.emplace_back("accuracy");
  if (result.at_margin) all.metrics.emplace_back("accuracy_at_margin");
  const std::map<std::int64_t, double> weights = weights_of(result.folds);
  std::map<std::int64_t, double> thresholds;
  for (const FoldAccuracy& fold : result.folds) thresholds[fold.fold] = fold.threshold.distance;
  Acquaintances people;
  std::vector<const PairNames*> reported;
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    const ScoredPair& pair = pairs[at];
    if (settings.fold && pair.fold != *settings.fold) continue;
    const auto right = [&](double threshold) { return (pair.distance <= threshold) == pair.same; };
    Outcome outcome{names[at].observation, {}, {}};
    if (!result.folds.empty()) {
      outcome.values.emplace_back(right(thresholds.at(pair.fold)) ? weights.at(pair.fold) : 0.0);
    }
    if (result.at_margin) {
      const double margin = ranked_margin(*settings.margin, settings.distance);
      outcome.values.emplace_back(right(margin) ? 1.0 : 0.0);
    }
    all.outcomes.push_back(std::move(outcome));
    reported.push_back(&names[at]);
    if (!names[at].first.empty() && !names[at].second.empty()) {
      people.join(names[at].first, names[at].second);
    }
  }
  for (std::size_t at = 0; at < reported.size(); ++at) {
    const PairNames& name = *reported[at];
    const bool known = !name.first.empty() && !name.second.empty();
    all.outcomes[at].cluster = known ? people.name_of(name.first) : name.observation;
  }
  return all;
}

}  // namespace seam::stages
