#include "stages/metric/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <seam/error.hpp>
#include <utility>

#include "stages/counted.hpp"

namespace seam::stages {

Interval wilson_interval(double share, std::int64_t of) {
  if (of < 1) return {};
  constexpr double z = 1.959963984540054;  // 97.5 % of the normal distribution
  const auto count = static_cast<double>(of);
  const double centre = share + z * z / (2 * count);
  const double spread = z * std::sqrt(share * (1 - share) / count + z * z / (4 * count * count));
  const double scale = 1 + z * z / count;
  return {std::max(0.0, (centre - spread) / scale), std::min(1.0, (centre + spread) / scale)};
}

TopKCounter::TopKCounter(std::vector<std::int64_t> ks, std::int64_t classes)
    : ks_(std::move(ks)), classes_(classes) {
  std::sort(ks_.begin(), ks_.end());
  ks_.erase(std::unique(ks_.begin(), ks_.end()), ks_.end());
  if (ks_.empty() || ks_.front() < 1) {
    throw Error("top-k accuracy needs at least one k, each 1 or more", Fault::configuration);
  }
  if (ks_.back() >= classes) {
    throw Error("k is " + std::to_string(ks_.back()) + ", but the scores are for " +
                    counted(classes, "class", "classes") +
                    ": the label would be among the best k whatever the scores are; lower 'k'",
                Fault::configuration);
  }
  optimistic_.resize(ks_.size());
  pessimistic_.resize(ks_.size());
  of_class_.resize(static_cast<std::size_t>(classes));
  for (Hits& hits : of_class_) {
    hits.hits.resize(ks_.size());
    hits.predicted.resize(static_cast<std::size_t>(classes));
  }
}

void TopKCounter::add(std::span<const float> scores, std::int64_t label) {
  if (static_cast<std::int64_t>(scores.size()) != classes_) {
    throw Error("has scores for " + counted(scores.size(), "class", "classes") +
                ", but earlier images had " + grouped(classes_));
  }
  if (label < 0) throw Error("has no category (" + std::to_string(label) + ")");
  if (label >= classes_) {
    throw Error("has category " + std::to_string(label) + ", but the scores are for " +
                counted(classes_, "class", "classes") + ", 0 to " + std::to_string(classes_ - 1));
  }
  const auto own = static_cast<std::size_t>(label);
  std::int64_t above = 0;
  std::int64_t tied_before = 0;
  std::int64_t tied = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) {
      throw Error("has NaN for the score of class " + std::to_string(i) +
                  "; the model has diverged, or its input is corrupt");
    }
    if (scores[i] > scores[best]) best = i;
    if (i == own) continue;
    if (scores[i] > scores[own]) ++above;
    if (scores[i] == scores[own]) {
      ++tied;
      if (i < own) ++tied_before;
    }
  }
  Hits& hits = of_class_[own];
  ++hits.images;
  ++hits.predicted[best];
  for (std::size_t i = 0; i < ks_.size(); ++i) {
    hits.hits[i] += above + tied_before < ks_[i] ? 1 : 0;
    optimistic_[i] += above < ks_[i] ? 1 : 0;
    pessimistic_[i] += above + tied < ks_[i] ? 1 : 0;
  }
}

AccuracyResult TopKCounter::result() const {
  AccuracyResult result;
  result.ks = ks_;
  std::vector<std::int64_t> hits(ks_.size());
  for (const Hits& of_class : of_class_) {
    result.images += of_class.images;
    for (std::size_t i = 0; i < ks_.size(); ++i) hits[i] += of_class.hits[i];
  }
  if (result.images == 0) throw Error("no image arrived, so there is no accuracy to report");
  const auto share = [](std::int64_t count, std::int64_t of) {
    return of == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(of);
  };
  for (std::size_t i = 0; i < ks_.size(); ++i) {
    const double accuracy = share(hits[i], result.images);
    result.accuracy.push_back(accuracy);
    result.optimistic.push_back(share(optimistic_[i], result.images));
    result.pessimistic.push_back(share(pessimistic_[i], result.images));
    result.standard_error.push_back(
        std::sqrt(accuracy * (1 - accuracy) / static_cast<double>(result.images)));
  }
  for (std::size_t label = 0; label < of_class_.size(); ++label) {
    const Hits& of_class = of_class_[label];
    ClassAccuracy accuracy;
    accuracy.images = of_class.images;
    for (const std::int64_t count : of_class.hits) {
      accuracy.accuracy.push_back(share(count, of_class.images));
    }
    for (std::size_t other = 0; other < of_class.predicted.size(); ++other) {
      if (other == label || of_class.predicted[other] <= accuracy.taken_for_it) continue;
      accuracy.most_taken_for = static_cast<std::int64_t>(other);
      accuracy.taken_for_it = of_class.predicted[other];
    }
    result.by_class.push_back(std::move(accuracy));
  }
  return result;
}

}  // namespace seam::stages
