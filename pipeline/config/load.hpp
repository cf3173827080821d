/// Reads a pipeline file and checks all of it in one pass.
///
///     file, extends, variants, --set, ${VAR} ──► one tree ──► settings, stages, flows, schedule
///                                          └── every fault a Problem, none hides another
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <seam/runner.hpp>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/problem.hpp"
#include "pipeline/config/untrained.hpp"
#include "pipeline/plugins/registry.hpp"

namespace seam::host {

/// A pipeline that may run: every stage made and configured, every path's fields checked.
struct CheckedPipeline {
  PipelineSpec spec;
  std::map<std::string, std::unique_ptr<StageRunner>> stages;  ///< by name, references bound
  std::vector<PluginFile> plugins;  ///< whose code is loaded, for the record of a run
  DeviceList devices = nullptr;     ///< what their LibTorch has; null: they have none
  /// A sentence for each folder without which a run on this machine would fail; `problems` has
  /// warnings of them.
  std::vector<std::string> missing_data;
  /// Predictions that flows evaluate although nothing trains them; `problems` has warnings of them.
  std::vector<UntrainedField> untrained;
};

/// Whether a flow has a stage that trains.
[[nodiscard]] bool trains(const CheckedPipeline& pipeline, const FlowSpec& flow);
/// Whether a scheduled flow does.
[[nodiscard]] bool trains(const CheckedPipeline& pipeline);

struct LoadResult {
  std::optional<CheckedPipeline> pipeline;  ///< none where there are errors
  std::vector<Problem> problems;            ///< errors and warnings, in file order
};

/// Whether the run writes an event file for TensorBoard.
enum class EventFileUse : std::uint8_t {
  as_in_file,
  always,  ///< also where the pipeline file does not ask for one
};

struct LoadOptions {
  std::filesystem::path file;
  std::vector<std::string> variants;                   ///< --variant, laid over in this order
  std::vector<std::string> overrides;                  ///< --set: "stage.model.classes=50"
  std::vector<std::string> plugin_paths;               ///< --plugin-path
  EventFileUse event_file = EventFileUse::as_in_file;  ///< --tensorboard
  std::map<std::string, std::string> environment;      ///< for ${VAR}
  /// Told what the file says of threads, gives how many there are to be: called before any plugin
  /// is loaded, since libraries count threads when they are. None: what the file says, else the
  /// machine's cores.
  std::function<int(std::optional<int>)> decide_threads;
  /// What stages said of themselves before, for who only wants to check: plugins are loaded where
  /// that is not known, and the stages cannot be run. None: plugins are loaded.
  DescriptionCache* descriptions = nullptr;
  /// Searched instead of SEAM_PLUGIN_PATH and the program's own folder.
  std::optional<std::vector<SearchEntry>> search_path;
  /// The plugins of the run that goes on; what they offer is taken from them, all else from the
  /// search path.
  std::vector<std::filesystem::path> recorded_plugins;
};

/// Never throws for what a user wrote: that becomes problems.
LoadResult load_pipeline(const LoadOptions& options);

/// One stage as a pipeline without flows, for who only asks what it is: named like the last word of
/// `use`, with its defaults but for `set`, such as "classes=50".
LoadResult load_stage(const std::string& use, const std::vector<std::string>& set,
                      const std::map<std::string, std::string>& environment, Registry& registry);

/// The process's environment variables, for LoadOptions.
std::map<std::string, std::string> process_environment();

}  // namespace seam::host
