/// The tables of a pipeline file that say how it runs: [pipeline], [limits], [schedule].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"

namespace seam::host {

/// Refuses what stands at the top of a file and is none of Seam's tables. A misspelt table gets its
/// right name, so that what is in it can be checked as well.
void check_top_level(Table& tree, Findings& findings);

/// Whether the text is what `device` takes: "cpu", "cuda", "cuda:1", "auto".
bool is_device(std::string_view text);
/// What it takes, for messages.
inline constexpr std::string_view device_forms = "\"cpu\", \"cuda\", \"cuda:1\" or \"auto\"";

/// Fills what [pipeline] says, and limits. `spec.file` must be set: it
/// gives the name where none is said, and plugin paths are relative to the file that names them.
void read_settings(const Table& tree, PipelineSpec& spec, Findings& findings);

/// The texts of `plugins` in [pipeline]; the path that each means, absolute.
std::vector<const Node*> plugin_nodes(const Table& tree);
std::string plugin_path(const Node& node);

/// Names that a schedule may use. A flow or stage that is there but broken counts as known.
struct KnownNames {
  std::vector<std::string> flows;  ///< in the file's order
  std::vector<std::string> stages;
};

/// Reports patterns of [pipeline]'s tensorboard that name a stage which is not in the file.
void check_tensorboard(const Table& tree, const KnownNames& known, Findings& findings);

/// The schedule; without the table, one epoch of all flows. Warns of flows that never run.
ScheduleSpec read_schedule(const Table& tree, const KnownNames& known, Findings& findings);

}  // namespace seam::host
