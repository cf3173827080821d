/// The numbers of classes that a file omits: those of the data that trains the networks.
///
///     train_items: 14 category names ──► model (CategoryOutputs), without `classes` ──► 14
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pipeline/config/fields.hpp"
#include "pipeline/config/load.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// Whether the parameter is the number of outputs of a stage that offers CategoryOutputs.
[[nodiscard]] bool counts_categories(const ParameterInfo& parameter,
                                     const Description& description);

/// Sets `classes` of the stages that offer CategoryOutputs and omit it, if data sets before them in
/// scheduled flows that train name categories. `make` creates a data set again, to be counted.
void set_classes(const PipelineSpec& spec, std::vector<StageDraft>& stages,
                 const std::function<std::unique_ptr<StageRunner>(const StageDraft&)>& make,
                 const CategoryCount& count, const SetValues& set);

}  // namespace seam::host
