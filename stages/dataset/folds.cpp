#include "stages/dataset/folds.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "stages/counted.hpp"

namespace seam::stages {

std::vector<int> folds_of(std::span<const std::string> items, int folds, std::uint64_t seed) {
  std::vector<std::string_view> names(items.begin(), items.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() < static_cast<std::size_t>(folds)) {
    throw Error("the split has " + counted(names.size(), "item") + ", too few for " +
                    std::to_string(folds) + " folds; lower 'folds'",
                Fault::configuration);
  }
  Random random(seed, stream_of("folds"));
  random.shuffle(std::span(names));
  std::unordered_map<std::string_view, int> fold_of_item;
  for (std::size_t i = 0; i < names.size(); ++i) {
    fold_of_item[names[i]] = static_cast<int>(i % static_cast<std::size_t>(folds));
  }
  std::vector<int> result;
  result.reserve(items.size());
  for (const std::string& item : items) result.push_back(fold_of_item.at(item));
  return result;
}

void Folds::declare(Declaration& declaration) {
  declaration
      .parameter("folds", folds_,
                 "cut the split into so many folds for cross-validation, each item in one; 1: none")
      .range(1, 1'000'000);
  declaration.parameter("fold", fold_, "which fold is held out, from 0").range(0, 999'999);
  declaration.parameter("part", part_, "serve the other folds or the one that is held out",
                        {{"train", FoldPart::train}, {"held_out", FoldPart::held_out}});
  declaration.parameter("fold_seed", seed_,
                        "another seed, another cut; stages of one experiment need the same");
}

std::vector<std::size_t> Folds::chosen(std::span<const std::string> items) const {
  std::vector<std::size_t> rows(items.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (fold_ >= folds_) {
    throw Error("fold is " + std::to_string(fold_) + ", but folds is " + std::to_string(folds_) +
                    ": folds count from 0" + (folds_ == 1 ? "; set 'folds'" : ""),
                Fault::configuration);
  }
  if (folds_ == 1) {
    if (part_ == FoldPart::train) return rows;
    throw Error("part is \"held_out\", but folds is 1: nothing is held out; set 'folds'",
                Fault::configuration);
  }
  const std::vector<int> folds = folds_of(items, folds_, seed_);
  std::erase_if(rows, [&](std::size_t row) {
    return (folds[row] == fold_) != (part_ == FoldPart::held_out);
  });
  return rows;
}

std::string Folds::text() const {
  if (folds_ == 1) return {};
  return std::string("part '") + (part_ == FoldPart::train ? "train" : "held_out") + "' of fold " +
         std::to_string(fold_) + " of " + std::to_string(folds_);
}

}  // namespace seam::stages
