/// Whether each pair was told right, for `seam compare --paired`.
///
///     pairs, thresholds of their folds ──► 1 or 0 ──► outcomes/FLOW.STAGE.csv
///     ann-bob  bob-eve  dan-dan  ──► clusters ann, ann, dan: pairs that share people are one
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stages/export/outcomes.hpp"
#include "stages/metric/verification_report.hpp"

namespace seam::stages {

/// What a pair and its two people are called.
struct PairNames {
  std::string observation;  ///< as Outcome has it
  std::string first;        ///< person, or picture where people have no names; empty: not known
  std::string second;
};

/// Rows `first` and `first + 1` of the batch.
[[nodiscard]] PairNames pair_names(const Packet& batch, std::size_t first);

struct PairOutcomes {
  std::vector<std::string> metrics;  ///< accuracy, accuracy_at_margin: those that are reported
  std::vector<Outcome> outcomes;     ///< of the pairs that are reported, in their order
};

/// `result` is verify()'s of the same pairs and settings, and there is a name for each pair. The
/// mean over the outcomes is the metric: where folds differ in size, a pair that is told right
/// scores pairs / (folds * pairs of its fold) in `accuracy`, which is a mean over folds. The
/// cluster is the first, in alphabetical order, of all people whom a chain of pairs connects.
[[nodiscard]] PairOutcomes outcomes_of(std::span<const ScoredPair> pairs,
                                       std::span<const PairNames> names,
                                       const VerificationResult& result,
                                       const VerificationSettings& settings);

}  // namespace seam::stages
