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

/// Reports an evaluated data set that differs from a training one in a replicate (`fold`) or in how
/// many there are (`folds`), if they otherwise differ only in choices, such as the part to serve.
void check_replicates(const PipelineSpec& spec, const std::vector<StageDraft>& stages,
                      Findings& findings);

}  // namespace seam::host
