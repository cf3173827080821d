#include "stages/metric/verification_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <seam/error.hpp>
#include <set>

#include "stages/counted.hpp"

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

Roc roc_of(std::vector<ScoredPair> pairs) {
  Roc roc;
  for (const ScoredPair& pair : pairs) {
    if (std::isnan(pair.distance)) {
      throw Error("the distance of a pair is NaN, so it cannot be ranked");
    }
    ++(pair.same ? roc.same : roc.different);
  }
  if (roc.same == 0 || roc.different == 0) {
    throw Error("verification needs pairs of one person and of two, but " +
                (pairs.empty() ? std::string("there is no pair")
                               : "all " + counted(pairs.size(), "pair") + " are of " +
                                     (roc.same == 0 ? "two" : "one")) +
                "; check the list of pairs, or draw them with sampling.pairs");
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const ScoredPair& a, const ScoredPair& b) { return a.distance < b.distance; });
  RocPoint point{-std::numeric_limits<double>::infinity(), 0, 0};
  roc.points.push_back(point);
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    ++(pairs[at].same ? point.true_accepts : point.false_accepts);
    point.distance = pairs[at].distance;
    const bool last = at + 1 == pairs.size() || pairs[at + 1].distance != pairs[at].distance;
    if (last) roc.points.push_back(point);
  }
  return roc;
}

std::vector<RocPoint> corners(const Roc& roc) {
  std::vector<RocPoint> kept;
  for (const RocPoint& point : roc.points) {
    while (kept.size() > 1) {
      const RocPoint& a = kept[kept.size() - 2];
      const RocPoint& b = kept.back();
      const bool on_line =
          (b.false_accepts - a.false_accepts) * (point.true_accepts - a.true_accepts) ==
          (b.true_accepts - a.true_accepts) * (point.false_accepts - a.false_accepts);
      if (!on_line) break;
      kept.pop_back();
    }
    kept.push_back(point);
  }
  return kept;
}

double area_under(const Roc& roc) {
  double twice = 0;  // whole numbers, exact up to 2^53
  for (std::size_t at = 1; at < roc.points.size(); ++at) {
    const RocPoint& a = roc.points[at - 1];
    const RocPoint& b = roc.points[at];
    twice += static_cast<double>(b.false_accepts - a.false_accepts) *
             static_cast<double>(a.true_accepts + b.true_accepts);
  }
  return twice / 2 / static_cast<double>(roc.same) / static_cast<double>(roc.different);
}

double equal_error_rate(const Roc& roc) {
  double before = -1;  // FAR - FRR, which rises from -1 to 1
  double far_before = 0;
  for (std::size_t at = 1; at < roc.points.size(); ++at) {
    const double far = roc.far(roc.points[at]);
    const double difference = far - (1 - roc.tar(roc.points[at]));
    if (difference >= 0) {
      return far_before + (far - far_before) * (-before / (difference - before));
    }
    before = difference;
    far_before = far;
  }
  return 1;  // not reached: the last point accepts all
}

std::optional<double> tar_at_far(const Roc& roc, double far) {
  // 0.001 of 3,000 is 3, whatever the last bit of the product says.
  const auto allowed =
      static_cast<std::int64_t>(std::floor(far * static_cast<double>(roc.different) * (1 + 1e-12)));
  if (allowed < 1) return {};
  double best = 0;
  for (const RocPoint& point : roc.points) {
    if (point.false_accepts <= allowed) best = roc.tar(point);
  }
  return best;
}

double accuracy_at(std::span<const ScoredPair> pairs, double threshold) {
  const auto right = std::count_if(pairs.begin(), pairs.end(), [&](const ScoredPair& pair) {
    return (pair.distance <= threshold) == pair.same;
  });
  return static_cast<double>(right) / static_cast<double>(pairs.size());
}

Threshold best_threshold(const Roc& roc) {
  std::size_t best = 0;
  std::int64_t most = -1;
  for (std::size_t at = 0; at < roc.points.size(); ++at) {
    const RocPoint& point = roc.points[at];
    const std::int64_t right = point.true_accepts + roc.different - point.false_accepts;
    if (right <= most) continue;
    most = right;
    best = at;
  }
  Threshold threshold;
  threshold.accuracy = static_cast<double>(most) / static_cast<double>(roc.same + roc.different);
  const double below = roc.points[best].distance;
  if (best == 0) {
    threshold.distance = std::nextafter(roc.points[1].distance, below);
  } else if (best + 1 == roc.points.size()) {
    threshold.distance = below;
  } else {
    const double above = roc.points[best + 1].distance;
    const double middle = below + (above - below) / 2;
    threshold.distance = middle < above ? middle : below;  // neighbours have no number between
  }
  return threshold;
}

std::vector<FoldAccuracy> cross_validated(std::span<const ScoredPair> pairs,
                                          std::optional<std::int64_t> only) {
  std::set<std::int64_t> folds;
  for (const ScoredPair& pair : pairs) folds.insert(pair.fold);
  if (folds.size() < 2) {
    throw Error("all pairs are in one fold, so there is no other fold to select the threshold");
  }
  if (only && !folds.contains(*only)) {
    throw Error("no pair is in fold " + std::to_string(*only) + "; there are folds " +
                    std::to_string(*folds.begin()) + " to " + std::to_string(*folds.rbegin()),
                Fault::configuration);
  }
  std::vector<FoldAccuracy> accuracies;
  for (const std::int64_t fold : folds) {
    if (only && fold != *only) continue;
    std::vector<ScoredPair> own;
    std::vector<ScoredPair> others;
    for (const ScoredPair& pair : pairs) (pair.fold == fold ? own : others).push_back(pair);
    FoldAccuracy result{fold, static_cast<std::int64_t>(own.size()), {}, 0};
    try {
      result.threshold = best_threshold(roc_of(std::move(others)));
    } catch (Error& error) {
      error.while_doing("selecting the threshold of fold " + std::to_string(fold));
      throw;
    }
    result.accuracy = accuracy_at(own, result.threshold.distance);
    accuracies.push_back(result);
  }
  return accuracies;
}

MeanOfFolds mean_of(std::span<const FoldAccuracy> folds) {
  const auto count = static_cast<double>(folds.size());
  MeanOfFolds result;
  for (const FoldAccuracy& fold : folds) result.mean += fold.accuracy / count;
  if (folds.size() < 2) return result;
  double squares = 0;
  for (const FoldAccuracy& fold : folds) {
    squares += (fold.accuracy - result.mean) * (fold.accuracy - result.mean);
  }
  result.standard_error = std::sqrt(squares / (count - 1) / count);
  return result;
}

void deal_folds(std::span<ScoredPair> pairs, std::int64_t folds) {
  std::array<std::int64_t, 2> dealt{};
  const auto same = static_cast<std::int64_t>(std::ranges::count_if(pairs, &ScoredPair::same));
  const std::int64_t different = static_cast<std::int64_t>(pairs.size()) - same;
  if (folds > 1 && std::min(same, different) < folds) {
    throw Error(std::to_string(folds) +
                    " folds need as many pairs of one person and as many of two; "
                    "there are " +
                    std::to_string(same) + " and " + std::to_string(different) +
                    ". Lower 'folds', or evaluate more pairs",
                Fault::configuration);
  }
  for (ScoredPair& pair : pairs) pair.fold = dealt[pair.same ? 1 : 0]++ % folds;
}

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
