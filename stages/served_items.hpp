/// Which items a data set serves: for those who must not be measured on what a model was trained
/// on. Of a data set that leaves others out in the wrong fold, nothing in a tensor shows it.
///
///     dataset.* (train) ── ServedItems ──► metric.verification, trained_on = "train_items"
#pragma once

#include <functional>
#include <set>
#include <string>

namespace seam::stages {

class ServedItems {
 public:
  using Names = std::set<std::string, std::less<>>;

  ServedItems() = default;
  ServedItems(const ServedItems&) = delete;
  ServedItems& operator=(const ServedItems&) = delete;
  ServedItems(ServedItems&&) = delete;
  ServedItems& operator=(ServedItems&&) = delete;
  virtual ~ServedItems() = default;

  /// The field `item` of all packets of an epoch, of all ranks; from open() on.
  [[nodiscard]] virtual const Names& served_items() const = 0;
};

}  // namespace seam::stages
