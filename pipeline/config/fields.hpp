/// The fields of each flow, path by path.
///
///     items ──► decode ──► batch ──► model          a stage's fields: what it needs must have been
///     +path     path       image     images         provided before it, with the same type and a
///     +item     +image     +images   +embedding     contract that fits
///
/// A parameter may be the size of a field that arrives: if a stage needs f32[N,dimensions] and the
/// file does not set `dimensions`, it is 368 if the flow provides f32[N,368].
#pragma once

#include <functional>
#include <vector>

#include "pipeline/config/findings.hpp"
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

}  // namespace seam::host
