#include "stages/loss/batch_triplets.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace seam::stages {
namespace {

bool is_of(TripletKind kind, double negative_beyond_positive, double margin) {
  switch (kind) {
    case TripletKind::all:
      return negative_beyond_positive <= margin;
    case TripletKind::hard:
      return negative_beyond_positive <= 0;
    case TripletKind::semihard:
      return negative_beyond_positive > 0 && negative_beyond_positive <= margin;
    case TripletKind::easy:
      return negative_beyond_positive > margin;
    case TripletKind::hardest:
      break;
  }
  return false;
}

struct Value {
  double loss;
  double slope;
};

Value value_of(TripletForm form, double x, double margin) {
  if (form == TripletForm::hinge) return {std::max(0.0, x + margin), x + margin > 0 ? 1.0 : 0.0};
  // Neither overflows for a large |x|.
  const double falling = std::exp(-std::abs(x));
  return {std::max(0.0, x) + std::log1p(falling), (x > 0 ? 1.0 : falling) / (1 + falling)};
}

}  // namespace

BatchTriplets batch_triplets(const torch::Tensor& distances,
                             const std::vector<std::int64_t>& labels, TripletKind kind,
                             TripletForm form, double margin) {
  const auto values = distances.accessor<double, 2>();
  const auto rows = static_cast<std::int64_t>(labels.size());
  const auto label = [&](std::int64_t row) { return labels[static_cast<std::size_t>(row)]; };
  const double open = form == TripletForm::hinge ? margin : 0;
  std::vector<double> slopes(static_cast<std::size_t>(rows * rows), 0);
  const auto slope = [&](std::int64_t a, std::int64_t b) -> double& {
    return slopes[static_cast<std::size_t>(std::min(a, b) * rows + std::max(a, b))];
  };
  BatchTriplets result;
  for (std::int64_t anchor = 0; anchor < rows; ++anchor) {
    bool has_positive = false;
    for (std::int64_t positive = 0; positive < rows; ++positive) {
      if (positive == anchor || label(positive) != label(anchor)) continue;
      has_positive = true;
      const double near = values[anchor][positive];
      for (std::int64_t negative = 0; negative < rows; ++negative) {
        if (label(negative) == label(anchor)) continue;
        const double far = values[anchor][negative];
        if (!is_of(kind, far - near, margin)) continue;
        ++result.triplets;
        result.positive_distance += near;
        result.negative_distance += far;
        if (near - far + open > 0) ++result.active;
        const Value value = value_of(form, near - far, margin);
        result.loss += value.loss;
        slope(anchor, positive) += value.slope;
        slope(anchor, negative) -= value.slope;
      }
    }
    if (!has_positive) ++result.without_positive;
  }
  if (result.triplets == 0) return result;
  const auto count = static_cast<double>(result.triplets);
  result.loss /= count;
  result.positive_distance /= count;
  result.negative_distance /= count;
  for (std::int64_t a = 0; a < rows; ++a) {
    for (std::int64_t b = a + 1; b < rows; ++b) {
      if (slope(a, b) == 0) continue;
      result.first.push_back(a);
      result.second.push_back(b);
      result.slopes.push_back(slope(a, b) / count);
    }
  }
  return result;
}

}  // namespace seam::stages
