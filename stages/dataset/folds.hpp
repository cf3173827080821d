/// Divides a split into folds for cross-validation, with all images of an item in one fold:
///
///     items, sorted by name ──► shuffled by fold_seed ──► dealt to folds 0, 1, 2, 0, 1, ...
///     fold = 1, part = "held_out"   the images of fold 1
///     fold = 1, part = "train"      those of all other folds
///
///     hold_out = 801                instead of folds: the first 801 of the shuffled items
///
/// The division depends only on the items' names, `folds`, `hold_out` and `fold_seed`, not on the
/// run's seed. If two stages list the same items and have the same values of these, their `train`
/// and `held_out` have no item in common. Lists that differ in one item may be divided differently.
#pragma once

#include <seam/stage.hpp>

namespace seam::stages {

/// The part of the images that is served.
enum class FoldPart : std::uint8_t { train, held_out };

/// For each row, the fold of its item. Throws seam::Error (configuration) if there are fewer items
/// than folds, since one would be empty.
[[nodiscard]] std::vector<int> folds_of(std::span<const std::string> items, int folds,
                                        std::uint64_t seed);

/// For each row, whether its item is one of the `count` that are held out. Throws seam::Error
/// (configuration) if that leaves no item.
[[nodiscard]] std::vector<bool> held_out(std::span<const std::string> items, std::int64_t count,
                                         std::uint64_t seed);

class Folds {
 public:
  /// Declares `folds`, `fold`, `hold_out`, `part` and `fold_seed`.
  void declare(Declaration& d);
  /// The rows to serve, ascending; `items[row]` is a row's item. Throws seam::Error (configuration)
  /// if the parameters do not fit each other or the rows.
  [[nodiscard]] std::vector<std::size_t> chosen(std::span<const std::string> items) const;
  /// Describes the served part for the log: "part 'train' of fold 1 of 5"; empty without folds.
  [[nodiscard]] std::string text() const;

 private:
  int folds_ = 1;
  int fold_ = 0;
  std::optional<std::int64_t> hold_out_;
  FoldPart part_ = FoldPart::train;
  std::uint64_t seed_ = 0;
};

}  // namespace seam::stages
