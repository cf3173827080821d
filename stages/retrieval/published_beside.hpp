/// Published recall for the report of an evaluation: shown only if data, counts, image size and
/// mask are the same.
#pragma once

#include <string>
#include <vector>

#include "stages/retrieval/recall_report.hpp"

namespace seam::stages {

/// A table for each mask with published results; empty if nothing is comparable. The data sets must
/// confirm that their lists are the published ones, and the user's `protocol` must name them:
/// "inshop" or "inshop/img256".
[[nodiscard]] std::string published_beside(const Evaluation& evaluation,
                                           const std::vector<MaskResult>& results);

/// The same by category. The category's queries and items must have the published counts too.
/// `names`: of the categories, by number.
[[nodiscard]] std::string published_categories(const Evaluation& evaluation,
                                               const MaskResult& result,
                                               const std::vector<std::string>& names);

}  // namespace seam::stages
