/// Means over repeated runs and their uncertainty.
#pragma once

#include <optional>
#include <span>

namespace seam::host {

/// Requires at least one value.
double mean_of(std::span<const double> values);

/// The sample's standard deviation (n - 1); none for fewer than two values.
std::optional<double> deviation_of(std::span<const double> values);

struct Bounds {
  double low = 0;
  double high = 0;
};

/// The confidence interval of the mean by Student's t; none for fewer than two values, or if all
/// are equal, which does not show how much they vary.
std::optional<Bounds> interval_of_mean(std::span<const double> values, double confidence);

}  // namespace seam::host
