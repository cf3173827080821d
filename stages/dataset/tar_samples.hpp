/// Groups the members of a tar into samples by key, as WebDataset does:
///
///     a/000.jpg  a/000.json  ──► sample a/000: picture, json
///     a/001.jpg  a/001.json  ──► sample a/001: picture, json
///
/// The key is the name up to the first dot after the last slash.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stages/dataset/tar_reader.hpp"

namespace seam::stages {

struct TarSample {
  std::string key;
  TarMember picture;
  std::optional<TarMember> cls;
  std::optional<TarMember> json;
};

/// The samples in the order of the tar. `extensions`: of pictures, in lower case, without a dot.
/// Members without an extension, hidden ones, and WebDataset's `__NAME__` belong to no sample.
///
/// Throws seam::Error naming tar and key if a sample has no picture or several, or two members with
/// one extension; if its members are not consecutive; or if TarReader throws.
[[nodiscard]] std::vector<TarSample> read_samples(const std::shared_ptr<const OpenFile>& tar,
                                                  const std::set<std::string>& extensions);

}  // namespace seam::stages
