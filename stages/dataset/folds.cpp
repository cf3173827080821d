#include "stages/dataset/folds.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "stages/counted.hpp"

namespace seam::stages {

namespace {

/// The distinct items, sorted by name and then shuffled.
std::vector<std::string_view> shuffled(std::span<const std::string> items, std::uint64_t seed) {
  std::vector<std::string_view> names(items.begin(), items.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  Random random(seed, stream_of("folds"));
  random.shuffle(std::span(names));
  return names;
}

}  // namespace

std::vector<int> folds_of(std::span<const std::string> items, int folds, std::uint64_t seed) {
  const std::vector<std::string_view> names = shuffled(items, seed);
  if (names.size() < static_cast<std::size_t>(folds)) {
    throw Error("the split has " + counted(names.size(), "item") + ", too few for " +
                    std::to_string(folds) + " folds; lower 'folds'",
                Fault::configuration);
  }
  std::unordered_map<std::string_view, int> fold_of_item;
  for (std::size_t i = 0; i < names.size(); ++i) {
    fold_of_item[names[i]] = static_cast<int>(i % static_cast<std::size_t>(folds));
  }
  std::vector<int> result;
  result.reserve(items.size());
  for (const std::string& item : items) result.push_back(fold_of_item.at(item));
  return result;
}

std::vector<bool> held_out(std::span<const std::string> items, std::int64_t count,
                           std::uint64_t seed) {
  std::vector<std::string_view> names = shuffled(items, seed);
  if (count >= static_cast<std::int64_t>(names.size())) {
    throw Error("the split has " + counted(names.size(), "item") + ", and hold_out is " +
                    std::to_string(count) + ": no item would be left; lower 'hold_out'",
                Fault::configuration);
  }
  names.resize(static_cast<std::size_t>(count));
  const std::unordered_set<std::string_view> chosen(names.begin(), names.end());
  std::vector<bool> result;
  result.reserve(items.size());
  for (const std::string& item : items) result.push_back(chosen.contains(item));
  return result;
}

void Folds::declare(Declaration& d) {
  d.parameter("folds", folds_,
              "number of cross-validation folds, each item in exactly one; 1: no folds")
      .range(1, 1'000'000);
  d.parameter("fold", fold_, "which fold is held out, from 0")
      .range(0, 999'999)
      .replicate("folds", std::int64_t{1});
  d.parameter(
       "hold_out", hold_out_,
       "number of items to hold out for validation, with all their images; alternative to folds")
      .at_least(1);
  d.parameter("part", part_,
              "train: everything except the held-out fold or items; held_out: only these",
              {{"train", FoldPart::train}, {"held_out", FoldPart::held_out}});
  d.parameter(
       "fold_seed", seed_,
       "seed of the split; stages of one experiment must use the same seed to get the same items")
      .replicate();
}

std::vector<std::size_t> Folds::chosen(std::span<const std::string> items) const {
  std::vector<std::size_t> rows(items.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (fold_ >= folds_) {
    throw Error("fold is " + std::to_string(fold_) + ", but folds is " + std::to_string(folds_) +
                    ": folds count from 0" + (folds_ == 1 ? "; set 'folds'" : ""),
                Fault::configuration);
  }
  const auto keep = [&](const auto& is_held_out) {
    std::erase_if(
        rows, [&](std::size_t row) { return is_held_out(row) != (part_ == FoldPart::held_out); });
    return rows;
  };
  if (hold_out_) {
    if (folds_ != 1) {
      throw Error("folds is " + std::to_string(folds_) + " and hold_out is " +
                      std::to_string(*hold_out_) +
                      ": only one of them can be used; remove the other",
                  Fault::configuration);
    }
    const std::vector<bool> held = held_out(items, *hold_out_, seed_);
    return keep([&](std::size_t row) { return held[row]; });
  }
  if (folds_ == 1) {
    if (part_ == FoldPart::train) return rows;
    throw Error(
        "part is \"held_out\", but folds is 1: nothing is held out; set 'folds' or 'hold_out'",
        Fault::configuration);
  }
  const std::vector<int> folds = folds_of(items, folds_, seed_);
  return keep([&](std::size_t row) { return folds[row] == fold_; });
}

std::string Folds::text() const {
  const std::string part =
      std::string("part '") + (part_ == FoldPart::train ? "train" : "held_out") + "'";
  if (hold_out_) return part + " with " + counted(*hold_out_, "item") + " held out";
  if (folds_ == 1) return {};
  return part + " of fold " + std::to_string(fold_) + " of " + std::to_string(folds_);
}

}  // namespace seam::stages
