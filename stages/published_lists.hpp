/// Whether a data set is the one that published numbers were measured on, so that reports mark an
/// evaluation on different data.
///
///     dataset.sop ── PublishedLists ──► retrieval.recall: "Not comparable with published numbers"
///
/// Published numbers appear only next to a run whose data sets all confirm their lists.
#pragma once

#include <seam/reference.hpp>

#include <string>

namespace seam::stages {

class PublishedLists {
 public:
  virtual ~PublishedLists() = default;

  /// Returns how the list differs from the published one, as a clause: "the train list has 2 images
  /// instead of the published 59,551"; empty if it does not, as far as can be counted. Known once
  /// the data set is open.
  [[nodiscard]] virtual std::string difference() const = 0;

  /// The data set's name in published tables: "inshop".
  [[nodiscard]] virtual std::string published_name() const = 0;
};

/// Differences of all data sets of a flow.
inline std::string differences(const Refs<PublishedLists>& data_sets) {
  std::string text;
  for (const PublishedLists* data_set : data_sets) {
    const std::string difference = data_set->difference();
    if (difference.empty()) continue;
    text += (text.empty() ? "" : ", ") + difference;
  }
  return text;
}

/// Returns the published data set that all data sets of a flow are; empty if there is none, if one
/// is different, or if there are several.
inline std::string published_name(const Refs<PublishedLists>& data_sets) {
  std::string name;
  for (const PublishedLists* data_set : data_sets) {
    const std::string its_name = data_set->published_name();
    if (!data_set->difference().empty() || (!name.empty() && its_name != name)) return {};
    name = its_name;
  }
  return name;
}

}  // namespace seam::stages
