/// The fields of each flow, path by path.
///
///     items ──► decode ──► batch ──► model          a stage's fields: what it needs must have been
///     +path     path       image     images         provided before it, with the same type and a
///     +item     +image     +images   +embedding     contract that fits
///
/// A parameter may be the size of a field that arrives: if a stage needs f32[N,dimensions] and the
/// file does not set `dimensions`, it is 368 if the flow provides f32[N,368].
///
/// The numbers of classes that a file omits are those of the data that trains the networks.
///
///     train_items: 14 category names ──► model (CategoryOutputs), without `classes` ──► 14
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pipeline/config/findings.hpp"
#include "pipeline/config/load.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// Sets further parameters of a stage.
using SetValues = std::function<void(StageDraft& stage, const Values& values)>;

/// Sets the parameters that the file omits and that are sizes of needed fields
/// (ParameterInfo::from_field). Reports those that no flow fixes.
void set_sizes(const std::vector<FlowSpec>& flows, std::vector<StageDraft>& stages,
               const SetValues& set, Findings& findings);

/// Checks that every field that a stage of the flow needs is provided and fits. A stage whose
/// fields are unknown may provide anything.
void check_fields(const FlowSpec& flow, const std::vector<StageDraft>& stages, Findings& findings);

/// Whether the parameter is the number of outputs of a stage that offers CategoryOutputs.
[[nodiscard]] bool counts_categories(const ParameterInfo& parameter,
                                     const Description& description);

/// Sets `classes` of the stages that offer CategoryOutputs and omit it, if data sets before them in
/// scheduled flows that train name categories. `make` creates a data set again, to be counted.
void set_classes(const PipelineSpec& spec, std::vector<StageDraft>& stages,
                 const std::function<std::unique_ptr<StageRunner>(const StageDraft&)>& make,
                 const CategoryCount& count, const SetValues& set);

}  // namespace seam::host
