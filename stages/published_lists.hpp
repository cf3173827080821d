/// Whether a data set serves what published numbers were measured on, so that an evaluation of
/// something else is marked where it is reported.
///
///     dataset.sop ── PublishedLists ──► retrieval.recall: "Not comparable with published numbers"
///
/// Published numbers are only set beside those of a run whose data sets all vouch for their lists.
#pragma once

#include <seam/reference.hpp>

#include <string>

namespace seam::stages {

class PublishedLists {
 public:
  PublishedLists() = default;
  virtual ~PublishedLists() = default;

  /// In which way what is served differs from what is published, as a clause: "the train list has
  /// 2 images where 59,551 are published"; empty where it does not, as far as can be counted. Known
  /// once the data set is open.
  [[nodiscard]] virtual std::string difference() const = 0;

  /// What published tables call what was measured on it: "inshop".
  [[nodiscard]] virtual std::string published_name() const = 0;

 protected:
  // Only through what derives from it.
  PublishedLists(const PublishedLists&) = default;
  PublishedLists& operator=(const PublishedLists&) = default;
  PublishedLists(PublishedLists&&) = default;
  PublishedLists& operator=(PublishedLists&&) = default;
};

/// Of all data sets of a flow.
inline std::string differences(const Refs<PublishedLists>& data_sets) {
  std::string text;
  for (const PublishedLists* data_set : data_sets) {
    const std::string difference = data_set->difference();
    if (difference.empty()) continue;
    text += (text.empty() ? "" : ", ") + difference;
  }
  return text;
}

/// What all data sets of a flow serve as it was published; empty where there is none, where one
/// serves something else, and where they serve several.
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
