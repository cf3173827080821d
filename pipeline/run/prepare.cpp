#include "pipeline/config/findings.hpp"
#include "pipeline/config/merge.hpp"
#include "pipeline/config/settings.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/run/thread_budget.hpp"

namespace seam::host {
namespace {

/// What the file says of threads, read ahead of its plugins. Faults are left to the real reading.
std::optional<int> threads_in_file(const LoadOptions& options) {
  Sources sources;
  Findings findings(sources);
  std::optional<Table> tree = read_with_bases(options.file, options.environment, sources, findings);
  if (!tree) return std::nullopt;
  apply_overrides(*tree, options.overrides, sources, findings);
  expand_tree(*tree, options.environment, sources, findings);
  PipelineSpec spec;
  spec.file = options.file.string();
  read_settings(*tree, spec, findings);
  return spec.threads;
}

}  // namespace

PreparedRun prepare_run(LoadOptions options, std::optional<int> command_line) {
  PreparedRun prepared;
  prepared.threads = thread_budget(command_line, threads_in_file(options), count_cores());
  obey_thread_budget(prepared.threads);
  options.threads = prepared.threads;
  prepared.loaded = load_pipeline(options);
  return prepared;
}

LoadOptions resume_options(const std::filesystem::path& run_directory,
                           std::vector<std::string> plugin_paths) {
  const Launch launch = read_launch(run_directory);
  LoadOptions options;
  options.file = run_directory / "resolved.toml";
  if (plugin_paths.empty()) {
    options.search_path.emplace();
    for (const PluginUsed& plugin : launch.plugins) {
      options.search_path->push_back({plugin.path, "the run's own record"});
    }
  }
  options.plugin_paths = std::move(plugin_paths);
  return options;
}

}  // namespace seam::host
