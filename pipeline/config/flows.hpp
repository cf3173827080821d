/// [flow]: reads each flow's text and checks its shape and its fields, path by path.
///
///     items ──► decode ──► batch ──► model          a stage's fields: what it needs must have been
///     +path     path       image     images         provided before it, with the same type and a
///     +item     +image     +images   +embedding     contract that fits
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/paths.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// Reads all flows and checks that each begins with its one source, ends in its sinks, and names
/// stages that exist. Flows with errors are left out. `names` gets the names of all flows; `file`
/// is reported if [flow] is missing.
std::vector<FlowSpec> read_flows(const Table& tree, const std::string& file,
                                 const std::vector<StageDraft>& stages, const Paths& paths,
                                 const Sources& sources, std::vector<std::string>& names,
                                 Findings& findings);

/// Checks that every field that a stage of the flow needs is provided and fits. A stage whose
/// fields are unknown may provide anything.
void check_fields(const FlowSpec& flow, const std::vector<StageDraft>& stages, Findings& findings);

/// Warns of stages that no flow uses and no stage refers to or is like, if `file` or --set sets
/// something in them: those of extended files may be unused. Call it only if all flows are valid: a
/// misspelt stage is not an unused one.
void check_use(const Table& tree, const std::string& file, const std::vector<StageDraft>& stages,
               const std::vector<FlowSpec>& flows, Findings& findings);

}  // namespace seam::host
