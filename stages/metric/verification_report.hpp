/// The result of a verification, and its report.
///
///     pairs ──► VerificationResult ──► metrics, tables in Markdown, ROC as CSV
#pragma once

#include "stages/export/outcomes.hpp"
#include "stages/metric/verification_curve.hpp"

namespace seam::stages {

struct VerificationSettings {
  VerificationDistance distance = VerificationDistance::euclidean;
  std::optional<double> margin;      ///< of the training
  std::optional<std::int64_t> fold;  ///< the only one to report
  std::vector<double> far = {0.1, 0.01, 0.001};
};

struct VerificationResult {
  Roc roc;
  double auc = 0;
  double eer = 0;
  std::vector<std::pair<double, double>> tar;  ///< at a FAR that the pairs allow
  std::optional<double> at_margin;             ///< accuracy
  std::vector<FoldAccuracy> folds;             ///< none if no threshold is selected
  MeanOfFolds accuracy;
};

/// For pairs with ranked distances. With `fold`, the threshold is that of all other folds, and all
/// else is evaluated on this fold only. With a single fold no threshold is selected. Throws the
/// errors of roc_of() and cross_validated().
[[nodiscard]] VerificationResult verify(const std::vector<ScoredPair>& pairs,
                                        const VerificationSettings& settings);

/// `protocol`: "lfw-view-2/alignment=deep-funneled/images=100x100".
[[nodiscard]] std::string verification_table(const VerificationResult& result,
                                             const VerificationSettings& settings,
                                             const std::string& protocol);
/// One row per fold.
[[nodiscard]] std::string fold_table(const VerificationResult& result,
                                     VerificationDistance distance);
/// distance,false_accepts,true_accepts,far,tar: every corner of the curve.
[[nodiscard]] std::string roc_csv(const Roc& roc, VerificationDistance distance);

// Whether each pair was classified correctly, for `seam compare --paired`.
//
//     pairs, thresholds of their folds ──► 1 or 0 ──► outcomes/FLOW.STAGE.csv
//     ann-bob  bob-eve  dan-dan  ──► clusters ann, ann, dan: pairs that share people are one

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
