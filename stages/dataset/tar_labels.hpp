/// Reads the labels of a sample in a tar: a text in `key.cls`, or an object in `key.json`.
#pragma once

#include <optional>
#include <string>

#include "stages/dataset/tar_reader.hpp"

namespace seam::stages {

struct SampleLabels {
  std::string item;
  std::optional<std::string> category;
};

/// Names of fields of an object; empty: the defaults, `item` or `label`, and `category` if it
/// exists.
struct LabelFields {
  std::string item;
  std::string category;
};

/// The text of the member without blanks around it, as item and category. Throws seam::Error naming
/// tar and member if it is not one line with a text.
[[nodiscard]] SampleLabels read_cls(const TarMember& member);

/// The values of two fields, which are texts or whole numbers. Throws seam::Error naming tar and
/// member if it is not an object with these fields.
[[nodiscard]] SampleLabels read_json(const TarMember& member, const LabelFields& fields);

}  // namespace seam::stages
