/// Whether each pair was classified correctly, for `seam compare --paired`.
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

/// Names of a pair and its two people.
struct PairNames {
  std::string observation;  ///< as in Outcome
  std::string first;        ///< person, or image if people have no names; empty: unknown
  std::string second;
};

/// Rows `first` and `first + 1` of the batch.
[[nodiscard]] PairNames pair_names(const Packet& batch, std::size_t first);

struct PairOutcomes {
  std::vector<std::string> metrics;  ///< accuracy, accuracy_at_margin: those that are reported
  std::vector<Outcome> outcomes;     ///< of the pairs that are reported, in their order
};

/// `result` is that of verify() for the same pairs and settings, and there is a name for each pair.
/// The mean over the outcomes is the metric: if folds differ in size, a correct pair scores pairs /
/// (folds * pairs of its fold) in `accuracy`, which is a mean over folds. The cluster is named
/// after the first, in alphabetical order, of all people connected by a chain of pairs.
[[nodiscard]] PairOutcomes outcomes_of(std::span<const ScoredPair> pairs,
                                       std::span<const PairNames> names,
                                       const VerificationResult& result,
                                       const VerificationSettings& settings);

}  // namespace seam::stages
