/// The result of a verification, and its report.
///
///     pairs ──► VerificationResult ──► metrics, tables in Markdown, ROC as CSV
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stages/metric/pair_distance.hpp"
#include "stages/metric/verification_curve.hpp"

namespace seam::stages {

/// The data of a verification: with different images or a different alignment, results differ by
/// tens of points.
struct VerificationProtocol {
  std::string name;
  std::string images;
  std::string alignment;
  std::string outside_data;
};

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

/// "lfw-view-2/images=100x100/alignment=deep-funneled/outside-data=none"; empty parts become
/// "unnamed".
[[nodiscard]] std::string to_text(const VerificationProtocol& protocol);
[[nodiscard]] std::string verification_table(const VerificationResult& result,
                                             const VerificationSettings& settings,
                                             const VerificationProtocol& protocol);
/// One row per fold.
[[nodiscard]] std::string fold_table(const VerificationResult& result,
                                     VerificationDistance distance);
/// distance,false_accepts,true_accepts,far,tar: every corner of the curve.
[[nodiscard]] std::string roc_csv(const Roc& roc, VerificationDistance distance);
/// "0.1", "0.001", as in `tar@0.001`.
[[nodiscard]] std::string far_text(double far);

}  // namespace seam::stages
