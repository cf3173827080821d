/// Reads a pipeline file and checks all of it in one pass.
///
///     file, extends, variants, --set, ${VAR} ──► one tree ──► settings, stages, flows, schedule
///                                          └── every error is a Problem, none hides another
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

/// A valid pipeline: every stage created and configured, the fields of every path checked.
struct CheckedPipeline {
  PipelineSpec spec;
  std::map<std::string, std::unique_ptr<StageRunner>> stages;  ///< by name, references bound
  std::vector<PluginFile> plugins;  ///< whose code is loaded, for the run's records
  DeviceList devices = nullptr;     ///< devices of their LibTorch; null: they do not use LibTorch
  /// One sentence for each folder without which a run on this machine would fail; `problems`
  /// contains the warnings.
  std::vector<std::string> missing_data;
  /// Predictions that flows evaluate although nothing trains them; `problems` contains the
  /// warnings.
  std::vector<UntrainedField> untrained;
};

/// Whether a flow has a stage that trains.
[[nodiscard]] bool trains(const CheckedPipeline& pipeline, const FlowSpec& flow);
/// Whether a scheduled flow does.
[[nodiscard]] bool trains(const CheckedPipeline& pipeline);

struct LoadResult {
  std::optional<CheckedPipeline> pipeline;  ///< none if there are errors
  std::vector<Problem> problems;            ///< errors and warnings, in file order
};

/// Whether the run writes an event file for TensorBoard.
enum class EventFileUse : std::uint8_t {
  as_in_file,
  always,  ///< even if the pipeline file does not enable it
};

/// Opens a data set to count the category names that it provides, and closes it. Throws seam::Error
/// if it cannot be opened.
using CategoryCount = std::function<std::int64_t(StageRunner& data)>;

struct LoadOptions {
  std::filesystem::path file;
  std::vector<std::string> variants;                   ///< --variant, laid over in this order
  std::vector<std::string> overrides;                  ///< --set: "stage.model.classes=50"
  std::vector<std::string> plugin_paths;               ///< --plugin-path
  EventFileUse event_file = EventFileUse::as_in_file;  ///< --tensorboard
  std::map<std::string, std::string> environment;      ///< for ${VAR}
  /// Given `threads` from the file, returns the number of threads to use. Called before any plugin
  /// is loaded, because libraries read the number when they are loaded. None: the file's value,
  /// else the number of cores.
  std::function<int(std::optional<int>)> decide_threads;
  /// Cached stage descriptions, for callers that only check: a plugin is loaded only if its
  /// description is not cached, and the stages cannot be run. Null: load all plugins.
  DescriptionCache* descriptions = nullptr;
  /// Counts the categories of a data set, for networks whose `classes` the file omits; for callers
  /// that run the pipeline. None: the networks have their default.
  CategoryCount count_categories;
  /// Searched instead of SEAM_PLUGIN_PATH and the program's own folder.
  std::optional<std::vector<SearchEntry>> search_path;
  /// The plugins of the resumed run; their stages are taken from them, all others from the search
  /// path.
  std::vector<std::filesystem::path> recorded_plugins;
};

/// Never throws because of user input: errors in it become problems.
LoadResult load_pipeline(const LoadOptions& options);

/// A single stage as a pipeline without flows, for callers that only inspect it: named like the
/// last word of `use`, with its defaults but for `set`, such as "classes=50".
LoadResult load_stage(const std::string& use, const std::vector<std::string>& set,
                      const std::map<std::string, std::string>& environment, Registry& registry);

/// The process's environment variables, for LoadOptions.
std::map<std::string, std::string> process_environment();

}  // namespace seam::host
