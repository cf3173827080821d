/// How well distances tell pairs of one person from pairs of two, exactly, ties included.
///
///     distances ──► sorted, equal ones together ──► ROC: a point for each different distance
///                                                    └──► AUC, EER, TAR at FAR, best threshold
///
/// A pair is accepted (taken for one person) where its distance is at most the threshold. A
/// threshold lies between two different distances, so that equal ones are never split. Plain
/// numbers, no tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace seam::stages {

struct ScoredPair {
  double distance = 0;
  bool same = false;
  std::int64_t fold = 0;
};

/// What is accepted up to a distance.
struct RocPoint {
  double distance = 0;
  std::int64_t false_accepts = 0;
  std::int64_t true_accepts = 0;
};

struct Roc {
  std::int64_t same = 0;       ///< pairs of one person
  std::int64_t different = 0;  ///< pairs of two
  /// The first accepts nothing, at minus infinity; then a point for each different distance.
  std::vector<RocPoint> points;

  [[nodiscard]] double far(const RocPoint& point) const {
    return static_cast<double>(point.false_accepts) / static_cast<double>(different);
  }
  [[nodiscard]] double tar(const RocPoint& point) const {
    return static_cast<double>(point.true_accepts) / static_cast<double>(same);
  }
};

/// Throws seam::Error for NaN, and where all pairs are of one kind.
[[nodiscard]] Roc roc_of(std::vector<ScoredPair> pairs);
/// Without the points that lie on the line between their neighbours: the same curve.
[[nodiscard]] std::vector<RocPoint> corners(const Roc& roc);

/// The probability that a pair of one person is nearer than a pair of two; equal counts half.
[[nodiscard]] double area_under(const Roc& roc);
/// Where as many pairs of two are accepted as pairs of one person are rejected (rates), on the
/// straight line between the points beside it.
[[nodiscard]] double equal_error_rate(const Roc& roc);
/// The largest share of pairs of one person accepted with at most the share `far` of the others.
/// Nothing where there are too few others for one to be within it.
[[nodiscard]] std::optional<double> tar_at_far(const Roc& roc, double far);

/// The share of pairs that are told right by a threshold.
[[nodiscard]] double accuracy_at(std::span<const ScoredPair> pairs, double threshold);

struct Threshold {
  double distance = 0;  ///< half way between the two different distances that it parts
  double accuracy = 0;  ///< on the pairs that chose it
};
/// The threshold of the highest accuracy, the lowest of these.
[[nodiscard]] Threshold best_threshold(const Roc& roc);

/// The accuracy on one fold at the threshold that all other folds chose.
struct FoldAccuracy {
  std::int64_t fold = 0;
  std::int64_t pairs = 0;
  Threshold threshold;
  double accuracy = 0;
};
/// A row for each fold that there is, ascending, or for `only` alone. Throws seam::Error where
/// there are fewer than two folds, where `only` has no pairs, or where the others of a fold are all
/// of one kind.
[[nodiscard]] std::vector<FoldAccuracy> cross_validated(std::span<const ScoredPair> pairs,
                                                        std::optional<std::int64_t> only = {});

struct MeanOfFolds {
  double mean = 0;
  /// Of the mean: standard deviation (of a sample) / sqrt(folds). Nothing for one fold.
  std::optional<double> standard_error;
};
[[nodiscard]] MeanOfFolds mean_of(std::span<const FoldAccuracy> folds);

/// Numbers pairs without folds: those of each kind are dealt to folds 0, 1, 2, ..., 0, 1, ... in
/// their order. Throws where a kind has fewer pairs than there are folds.
void deal_folds(std::span<ScoredPair> pairs, std::int64_t folds);

}  // namespace seam::stages
