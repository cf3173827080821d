/// Groups the members of a tar into samples by key, as WebDataset does, and reads their labels:
///
///     a/000.jpg  a/000.json  ──► sample a/000: picture, item, category
///     a/001.jpg  a/001.json  ──► sample a/001: picture, item, category
///
/// The key is the name up to the first dot after the last slash.
#pragma once

#include "stages/dataset/tar_reader.hpp"

namespace seam::stages {

/// The member of a sample that has a label, and the field if the member is an object.
struct LabelSource {
  std::string ending;  ///< "cls", "json"; empty: samples have no such label
  std::string field;   ///< of an object in `json`

  friend bool operator==(const LabelSource&, const LabelSource&) = default;
};

/// The label sources of a data set.
struct LabelSources {
  LabelSource item;
  LabelSource category;
};

/// Labels are texts or whole numbers; those in `cls` have no blanks around them, and "07" is "7".
/// They are empty if they have no source.
struct TarSample {
  TarMember picture;
  std::string item;
  std::string category;
};

/// The samples in the order of the tar. Members without an extension, hidden ones, and WebDataset's
/// `__NAME__` belong to no sample.
///
/// Throws seam::Error naming tar and key if a sample does not have one picture and its labels, or
/// if its members are not consecutive; or if TarReader throws.
[[nodiscard]] std::vector<TarSample> read_samples(const std::shared_ptr<const OpenFile>& tar,
                                                  const LabelSources& labels,
                                                  std::function<bool()> stop = nullptr);

}  // namespace seam::stages
