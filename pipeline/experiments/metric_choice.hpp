/// Determines the metric for a comparison: the user's choice, or the metric recorded in the runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// Determines metric, flow and direction.
class MetricChoice {
 public:
  /// Both belong to the caller and must outlive this object; `comparison` is filled.
  MetricChoice(const ComparisonChoice& choice, Comparison& comparison);

  /// Adds a run's record. Throws seam::Error (configuration) if two runs contradict each other.
  void add(const RunFolder& run, const std::vector<Score>& headlines);
  /// Throws seam::Error (configuration) if the metric or its better direction is ambiguous.
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
