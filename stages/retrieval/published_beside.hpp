/// Published recall for the report of an evaluation: shown where data, counts, size of pictures and
/// mask are the same, else not.
#pragma once

#include <string>
#include <vector>

#include "stages/retrieval/recall_report.hpp"

namespace seam::stages {

/// A table for each mask that there are published results for; empty where nothing may be compared.
/// The data sets must say that their lists are the published ones, and the user's `protocol` call
/// them so: "inshop" or "inshop/img256".
[[nodiscard]] std::string published_beside(const Evaluation& evaluation,
                                           const std::vector<MaskResult>& results);

/// The same by category. A category's own queries and items must have the published counts too.
/// `names`: of the categories, by number.
[[nodiscard]] std::string published_categories(const Evaluation& evaluation,
                                               const MaskResult& result,
                                               const std::vector<std::string>& names);

}  // namespace seam::stages
