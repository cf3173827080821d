/// The rows of each item of an epoch, for samplers that draw rows of the same item and of others.
#pragma once

#include <cstddef>
#include <numeric>
#include <seam/random.hpp>
#include <unordered_map>
#include <vector>

namespace seam::stages {

class ItemIndex {
 public:
  /// `items[row]` is the item of a row, an arbitrary number.
  explicit ItemIndex(std::span<const std::int64_t> items) {
    std::unordered_map<std::int64_t, std::size_t> dense;
    item_of_row_.reserve(items.size());
    for (const std::int64_t item : items) {
      item_of_row_.push_back(dense.try_emplace(item, dense.size()).first->second);
    }
    // Sorts rows by item with a counting sort.
    first_.assign(dense.size() + 1, 0);
    for (const std::size_t item : item_of_row_) ++first_[item + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    by_item_.resize(items.size());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t row = 0; row < items.size(); ++row) {
      by_item_[next[item_of_row_[row]]++] = static_cast<std::int64_t>(row);
    }
  }

  [[nodiscard]] std::size_t rows() const { return by_item_.size(); }
  [[nodiscard]] std::size_t items() const { return first_.size() - 1; }

  /// From 0, in order of first appearance.
  [[nodiscard]] std::size_t item_of(std::int64_t row) const {
    return item_of_row_[static_cast<std::size_t>(row)];
  }
  /// The rows of an item, ascending.
  [[nodiscard]] std::span<const std::int64_t> rows_of(std::size_t item) const {
    return std::span(by_item_).subspan(first_[item], first_[item + 1] - first_[item]);
  }

  /// One of the other rows of the row's item, which must have one.
  [[nodiscard]] std::int64_t other_of_item(std::int64_t row, Random& random) const {
    const std::span<const std::int64_t> all = rows_of(item_of(row));
    // The last row replaces the given one.
    const std::int64_t drawn = all[static_cast<std::size_t>(random.index(all.size() - 1))];
    return drawn == row ? all.back() : drawn;
  }
  /// One of the rows of all other items; there must be one.
  [[nodiscard]] std::int64_t of_other_item(std::int64_t row, Random& random) const {
    const std::size_t item = item_of(row);
    const std::size_t own = first_[item + 1] - first_[item];
    // Rows are sorted by item, so the others are those before and after.
    const auto at = static_cast<std::size_t>(random.index(rows() - own));
    return by_item_[at < first_[item] ? at : at + own];
  }

 private:
  std::vector<std::size_t> item_of_row_;
  std::vector<std::int64_t> by_item_;  // rows, item by item
  std::vector<std::size_t> first_;     // the start of each item's rows; one more than items
};

}  // namespace seam::stages
