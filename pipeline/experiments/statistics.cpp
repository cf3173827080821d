#include "pipeline/experiments/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace seam::host {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> deviation_of(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<Bounds> interval_of_mean(std::span<const double> values, double confidence) {
  const std::optional<double> deviation = deviation_of(values);
  if (!deviation) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  const boost::math::students_t distribution(count - 1);
  const double t =
      boost::math::quantile(boost::math::complement(distribution, (1 - confidence) / 2));
  const double half = t * *deviation / std::sqrt(count);
  const double mean = mean_of(values);
  constexpr double rounding = 1e-12;  // of differences of scores, which are near 1
  if (half <= rounding * std::max(1.0, std::abs(mean))) return std::nullopt;
  return Bounds{mean - half, mean + half};
}

}  // namespace seam::host
