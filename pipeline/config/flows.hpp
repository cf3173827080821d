/// [flow]: reads each flow's text and checks its shape, path by path.
///
///     "items -> decode -> {show, batch -> model}" ──► FlowSpec      source first, sinks last
#pragma once

#include <cstddef>
#include <set>
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

/// For each node of the flow itself and all nodes before it.
std::vector<std::set<std::size_t>> ancestors_of(const FlowSpec& flow);

/// Warns of stages that no flow uses and no stage refers to or is like, if `file` or --set sets
/// something in them: those of extended files may be unused. Call it only if all flows are valid: a
/// misspelt stage is not an unused one.
void check_use(const Table& tree, const std::string& file, const std::vector<StageDraft>& stages,
               const std::vector<FlowSpec>& flows, Findings& findings);

}  // namespace seam::host
