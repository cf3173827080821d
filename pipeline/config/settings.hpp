/// The tables of a pipeline file that define how it runs: [pipeline], [limits], [schedule].
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"

namespace seam::host {

/// Rejects top-level keys that are not Seam tables. A misspelt table gets its right name, so that
/// what is in it can be checked as well.
void check_top_level(Table& tree, Findings& findings);

/// Whether the text is a valid `device`: "cpu", "cuda", "cuda:1", "auto".
bool is_device(std::string_view text);
/// The valid forms, for messages.
inline constexpr std::string_view device_forms = "\"cpu\", \"cuda\", \"cuda:1\" or \"auto\"";

/// Reads [pipeline] and [limits] into the spec. `spec.file` must be set: it is the default of the
/// name, and plugin paths are relative to the file that contains them.
void read_settings(const Table& tree, PipelineSpec& spec, Findings& findings);

/// The entries of `plugins` in [pipeline] with their absolute paths.
std::vector<const Node*> plugin_nodes(const Table& tree);
std::string plugin_path(const Node& node);

/// Names that a schedule may use, including those of broken flows and stages.
struct KnownNames {
  std::vector<std::string> flows;  ///< in the file's order
  std::vector<std::string> stages;
};

/// Warns of each training flow that runs twice in an epoch: its random draws are the same.
void check_repeats(const Table& tree, const ScheduleSpec& schedule,
                   const std::function<bool(const std::string&)>& trains, Findings& findings);

/// Reports patterns of [pipeline]'s tensorboard that name a stage which is not in the file.
void check_tensorboard(const Table& tree, const KnownNames& known, Findings& findings);

/// The schedule; without the table, one epoch of all flows. Warns of flows of the file `own` that
/// never run: a file that extends others may schedule only its own flows.
ScheduleSpec read_schedule(const Table& tree, const std::string& own, const KnownNames& known,
                           Findings& findings);

}  // namespace seam::host
