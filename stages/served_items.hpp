/// The items of a data set, for stages that must not evaluate a model on its training items.
/// Nothing in a tensor shows that a data set emits the wrong fold.
///
///     dataset.* (train) ── ServedItems ──► metric.verification, retrieval.recall:
///                                          trained_on = "train_items"
#pragma once

#include <functional>
#include <seam/error.hpp>
#include <seam/reference.hpp>
#include <set>

namespace seam::stages {

class ServedItems {
 public:
  using Names = std::set<std::string, std::less<>>;

  virtual ~ServedItems() = default;

  /// The field `item` of all packets of an epoch, of all ranks; from open() on.
  [[nodiscard]] virtual const Names& served_items() const = 0;
};

/// The items of several data sets.
inline ServedItems::Names names_of(const Refs<ServedItems>& served) {
  ServedItems::Names names;
  for (const ServedItems* data : served) {
    names.insert(data->served_items().begin(), data->served_items().end());
  }
  return names;
}

/// Throws seam::Error (configuration) if the item is used for training or is not named.
/// `picture`: names what shows it; `remedy`: what to do, as a clause; `pronoun`: "whom" for people.
inline void check_unseen(const ServedItems& trained_on, const std::string& item,
                         const std::string& picture, const std::string& remedy,
                         const std::string& pronoun = "which") {
  if (item.empty()) {
    throw Error(picture +
                    " has no 'item', so it cannot be checked against `trained_on`; use a data set "
                    "that names them, or remove `trained_on`",
                Fault::configuration);
  }
  if (!trained_on.served_items().contains(item)) return;
  throw Error(
      picture + " shows '" + item + "', " + pronoun + " `trained_on` serves to training; " + remedy,
      Fault::configuration);
}

}  // namespace seam::stages
