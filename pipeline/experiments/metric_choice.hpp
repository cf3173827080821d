/// By which metric runs are compared: what the user says, else what the runs say of themselves.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// Settles metric, flow and direction.
class MetricChoice {
 public:
  /// Both are the caller's and outlive this; `comparison` is filled.
  MetricChoice(const ComparisonChoice& choice, Comparison& comparison);

  /// Takes up what a run says. Throws seam::Error (configuration) where two contradict each other.
  void add(const RunFolder& run, const std::vector<Score>& headlines);
  /// Throws seam::Error (configuration) where it is not clear which metric is meant, or which
  /// direction is better.
  void settle() const;

 private:
  [[nodiscard]] std::string known_metrics() const;

  const ComparisonChoice& choice_;
  Comparison& comparison_;
  std::optional<Better> direction_;
  std::string first_name_;
  std::filesystem::path any_run_;
};

}  // namespace seam::host
