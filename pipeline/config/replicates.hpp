/// Finds data sets of one run that take part in different replicates, such as folds: what one
/// holds out, the other serves to training.
///
///     train     train_items { fold = 1, part = "train" }    ──► model ──► loss ──► adam
///     evaluate  test_items  { fold = 0, part = "held_out" } ──► model ──► ...    trained items
#pragma once

#include <vector>

#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// Reports each data set that is evaluated if it differs from one that trains by a replicate, and
/// otherwise only by a choice, such as the part to serve: both then divide the same list.
void check_replicates(const PipelineSpec& spec, const std::vector<StageDraft>& stages,
                      Findings& findings);

}  // namespace seam::host
