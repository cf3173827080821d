/// Checks of the rows of a batch, and which of them show the same item, for losses over its pairs.
#pragma once

#include <seam/tensor.hpp>

namespace seam::stages {

/// Throws seam::Error for a batch without rows.
inline void check_rows(std::int64_t rows) {
  if (rows == 0) throw Error("the batch has no rows, and a mean needs one");
}

/// Throws seam::Error naming the first row without an item.
void check_items(const Packet& packet);

/// A number for each item, the same for equal ones, in order of first appearance.
[[nodiscard]] std::vector<std::int64_t> item_labels(const std::vector<std::string>& items);
/// Those of a batch's rows. Throws the error of check_items().
[[nodiscard]] std::vector<std::int64_t> item_labels(const Packet& packet);

/// Throws seam::Error if no row has both a positive and a negative, since a loss over pairs would
/// then be 0 without anything learned.
void check_pairs(const std::vector<std::int64_t>& labels);

/// For losses with one vector per item: throws seam::Error for no rows, for numbers of labels and
/// rows that differ, and for a label that is not one of the `proxies`.
void check_proxy_labels(const std::vector<std::int64_t>& labels, std::int64_t rows,
                        std::int64_t proxies);

}  // namespace seam::stages
