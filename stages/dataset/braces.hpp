/// Names with braces, as WebDataset and shells write them:
///
///     train-{000..002}.tar    ──► train-000.tar  train-001.tar  train-002.tar
///     {train,val}-{0..1}.tar  ──► train-0.tar  train-1.tar  val-0.tar  val-1.tar
#pragma once

#include <string>
#include <vector>

namespace seam::stages {

/// Expands ranges of whole numbers, which are padded to the longer of both ends if one of them
/// begins with 0, and lists with commas, which may contain braces. Other braces are left as they
/// are. Throws seam::Error (configuration) if there are more than 1,000,000 names.
[[nodiscard]] std::vector<std::string> expand_braces(const std::string& text);

}  // namespace seam::stages
