#include <utility>

#include "pipeline/run/run.hpp"
#include "pipeline/run/thread_budget.hpp"

namespace seam::host {

RunSummary run_pipeline(CheckedPipeline& pipeline, const RunOptions& options, Display& display) {
  FlowEngine engine(options.threads);
  return run_pipeline(pipeline, options, display, engine);
}

PreparedRun prepare_run(LoadOptions options, std::optional<int> command_line) {
  PreparedRun prepared;
  options.decide_threads = [&](std::optional<int> in_file) {
    prepared.threads = thread_budget(command_line, in_file, count_cores());
    obey_thread_budget(prepared.threads);
    return prepared.threads;
  };
  prepared.loaded = load_pipeline(options);
  return prepared;
}

LoadOptions earlier_run_options(const std::filesystem::path& run_directory,
                                std::vector<std::string> plugin_paths) {
  const Launch launch = read_launch(run_directory);
  LoadOptions options;
  options.file = run_directory / "resolved.toml";
  for (const PluginUsed& plugin : launch.plugins)
    options.recorded_plugins.emplace_back(plugin.path);
  options.plugin_paths = std::move(plugin_paths);
  return options;
}

}  // namespace seam::host
