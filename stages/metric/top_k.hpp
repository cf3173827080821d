/// Top-k accuracy over scored images, for all of them and per class.
///
///     scores 0.1 0.7 0.2, label 2 ──► rank 1 (from 0): a hit for k = 2, not for k = 1
///
/// Equal scores are ranked by class number; two bounds give the accuracy with all ties ranked
/// favourably or unfavourably, so that a model that scores all classes alike does not get 100 %.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace seam::stages {

/// Fractions from 0 to 1; vectors are as long as `ks`.
struct ClassAccuracy {
  std::int64_t images = 0;
  std::vector<double> accuracy;      ///< zeros for a class without images
  std::int64_t most_taken_for = -1;  ///< the other class that is predicted most often; -1: none
  std::int64_t taken_for_it = 0;     ///< how often
};

struct AccuracyResult {
  std::vector<std::int64_t> ks;
  std::int64_t images = 0;
  std::vector<double> accuracy;
  std::vector<double> optimistic;
  std::vector<double> pessimistic;
  std::vector<double> standard_error;  ///< binomial: images are treated as independent
  std::vector<ClassAccuracy> by_class;
};

/// Both ends of an interval.
struct Interval {
  double low = 0;
  double high = 1;
};

/// The 95 % confidence interval of a fraction (E. B. Wilson, "Probable inference, the law of
/// succession, and statistical inference", JASA 1927): also correct near 0 and 1.
[[nodiscard]] Interval wilson_interval(double share, std::int64_t of);

class TopKCounter {
 public:
  /// Sorts `ks` and removes duplicates. Throws seam::Error if one is below 1, there is none, or the
  /// largest is not below the number of classes: accuracy would be 100 % whatever a model does.
  TopKCounter(std::vector<std::int64_t> ks, std::int64_t classes);

  [[nodiscard]] std::int64_t classes() const { return classes_; }

  /// Throws seam::Error, which does not name the image, for scores with a different number of
  /// classes, for NaN among them, and for a label that is not a class.
  void add(std::span<const float> scores, std::int64_t label);

  /// Throws seam::Error if there was no image.
  [[nodiscard]] AccuracyResult result() const;

 private:
  struct Hits {
    std::int64_t images = 0;
    std::vector<std::int64_t> hits;
    std::vector<std::int64_t> predicted;  ///< how often each class was predicted
  };

  std::vector<std::int64_t> ks_;
  std::int64_t classes_;
  std::vector<Hits> of_class_;
  std::vector<std::int64_t> optimistic_;
  std::vector<std::int64_t> pessimistic_;
};

}  // namespace seam::stages
