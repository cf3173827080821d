/// Which rows of a batch show the same item, for losses over its pairs.
#pragma once

#include <seam/origin.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace seam::stages {

/// Throws seam::Error naming the first row without an item, by its origin where there are origins.
void check_items(const std::vector<std::string>& items, const std::vector<Origin>* origins);

/// A number for each row, the same for rows of one item, in order of first appearance. Throws what
/// check_items() throws.
[[nodiscard]] std::vector<std::int64_t> item_labels(const std::vector<std::string>& items,
                                                    const std::vector<Origin>* origins);

/// Throws seam::Error where no row has both a positive and a negative, so that a loss over pairs
/// would be 0 without having learned anything.
void check_pairs(const std::vector<std::int64_t>& labels);

/// For losses with one vector an item: throws seam::Error for no rows, for another number of labels
/// than rows and for a label that is none of the `proxies`.
void check_proxy_labels(const std::vector<std::int64_t>& labels, std::int64_t rows,
                        std::int64_t proxies);

}  // namespace seam::stages
