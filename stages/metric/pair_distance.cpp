#include "stages/metric/pair_distance.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <seam/error.hpp>
#include <string>

namespace seam::stages {
namespace {

double cosine_distance(std::span<const float> a, std::span<const float> b) {
  double products = 0;
  double squares_a = 0;
  double squares_b = 0;
  for (std::size_t at = 0; at < a.size(); ++at) {
    products += static_cast<double>(a[at]) * b[at];
    squares_a += static_cast<double>(a[at]) * a[at];
    squares_b += static_cast<double>(b[at]) * b[at];
  }
  // Rounding can leave a product beside a square of the same number.
  return std::max(0.0, 1 - products / (std::sqrt(squares_a) * std::sqrt(squares_b)));
}

}  // namespace

void check_embedding(std::span<const float> values, VerificationDistance distance) {
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (std::isfinite(values[at])) continue;
    throw Error("has " + std::string(std::isnan(values[at]) ? "NaN" : "infinity") + " in place " +
                std::to_string(at) +
                " of its embedding; the model has diverged, or its input is damaged");
  }
  if (distance != VerificationDistance::cosine) return;
  if (std::any_of(values.begin(), values.end(), [](float value) { return value != 0; })) return;
  throw Error(
      "has an embedding of zeros, which has no direction and thus no cosine; use distance = "
      "\"euclidean\", or check the model and the image");
}

double ranked_distance(std::span<const float> a, std::span<const float> b,
                       VerificationDistance distance) {
  if (distance == VerificationDistance::cosine) return cosine_distance(a, b);
  double sum = 0;
  for (std::size_t at = 0; at < a.size(); ++at) {
    const double difference = static_cast<double>(a[at]) - b[at];
    sum += distance == VerificationDistance::euclidean ? difference * difference
                                                       : std::abs(difference);
  }
  return distance == VerificationDistance::euclidean ? std::sqrt(sum) : sum;
}

double shown_distance(double ranked, VerificationDistance distance) {
  return distance == VerificationDistance::exp_manhattan ? -std::expm1(-ranked) : ranked;
}

double ranked_margin(double margin, VerificationDistance distance) {
  if (distance != VerificationDistance::exp_manhattan) return margin;
  return margin >= 1 ? std::numeric_limits<double>::infinity() : -std::log1p(-margin);
}

}  // namespace seam::stages
