/// How well distances separate pairs of one person from pairs of two, exactly, ties included.
///
///     distances ──► sorted, equal ones together ──► ROC: a point for each different distance
///                                                    └──► AUC, EER, TAR at FAR, best threshold
///
/// A pair is accepted (as one person) if its distance is at most the threshold. A threshold is
/// between two different distances, so that equal ones are never split. Plain numbers, no tensors.
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

/// The pairs accepted up to a distance.
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

/// Throws seam::Error for NaN, and if all pairs are of one kind.
[[nodiscard]] Roc roc_of(std::vector<ScoredPair> pairs);
/// Without the points that lie on the line between their neighbours: the same curve.
[[nodiscard]] std::vector<RocPoint> corners(const Roc& roc);

/// The probability that a pair of one person is nearer than a pair of two; equal counts half.
[[nodiscard]] double area_under(const Roc& roc);
/// The rate at which as many pairs of two are accepted as pairs of one person are rejected, on the
/// straight line between the neighbouring points.
[[nodiscard]] double equal_error_rate(const Roc& roc);
/// The largest fraction of pairs of one person accepted with at most the fraction `far` of the
/// others. Nothing if there are too few others for one to be within it.
[[nodiscard]] std::optional<double> tar_at_far(const Roc& roc, double far);

/// The fraction of pairs that a threshold classifies correctly.
[[nodiscard]] double accuracy_at(std::span<const ScoredPair> pairs, double threshold);

struct Threshold {
  double distance = 0;  ///< half way between the two distances that it separates
  double accuracy = 0;  ///< on the pairs on which it was selected
};
/// The threshold with the highest accuracy; of several, the lowest.
[[nodiscard]] Threshold best_threshold(const Roc& roc);

/// The accuracy on one fold at the threshold selected on all other folds.
struct FoldAccuracy {
  std::int64_t fold = 0;
  std::int64_t pairs = 0;
  Threshold threshold;
  double accuracy = 0;
};
/// One row per existing fold, ascending, or only for `only`. Throws seam::Error if there are fewer
/// than two folds, if `only` has no pairs, or if the pairs outside a fold are all of one kind.
[[nodiscard]] std::vector<FoldAccuracy> cross_validated(std::span<const ScoredPair> pairs,
                                                        std::optional<std::int64_t> only = {});

struct MeanOfFolds {
  double mean = 0;
  /// Of the mean: standard deviation (of a sample) / sqrt(folds). Nothing for one fold.
  std::optional<double> standard_error;
};
[[nodiscard]] MeanOfFolds mean_of(std::span<const FoldAccuracy> folds);

/// Assigns folds to pairs without them: those of each kind go to folds 0, 1, 2, ..., 0, 1, ... in
/// their order. Throws if a kind has fewer pairs than there are folds.
void deal_folds(std::span<ScoredPair> pairs, std::int64_t folds);

// Distances of two embeddings in double, summed in their order: the same on every machine.

enum class VerificationDistance : std::uint8_t {
  euclidean,      ///< |a - b|
  cosine,         ///< 1 - cos(a, b)
  exp_manhattan,  ///< 1 - exp(-|a - b|₁)
};

/// Throws seam::Error, whose message follows an image's name ("a.jpg has NaN ..."), for values that
/// are not finite and, with cosine, for zeros, which have no direction.
void check_embedding(std::span<const float> values, VerificationDistance distance);

/// The value by which pairs are ranked: the distance, but |a - b|₁ for exp_manhattan, whose
/// exponential makes far pairs equal. For checked embeddings of the same length.
[[nodiscard]] double ranked_distance(std::span<const float> a, std::span<const float> b,
                                     VerificationDistance distance);

/// Converts a ranked distance to the one shown to users and used by margins, and back.
[[nodiscard]] double shown_distance(double ranked, VerificationDistance distance);
[[nodiscard]] double ranked_margin(double margin, VerificationDistance distance);

}  // namespace seam::stages
