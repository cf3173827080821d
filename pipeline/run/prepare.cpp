#include "pipeline/run/run.hpp"

#include <functional>
#include <map>
#include <memory>

#include "pipeline/run/thread_budget.hpp"

namespace seam::host {
namespace {

/// FlowEngine as a FlowRunner.
class EngineFlows final : public FlowRunner {
 public:
  explicit EngineFlows(int threads) : engine_(threads) {}

  void on_compute_thread(const std::function<void()>& work) override {
    engine_.on_compute_thread(work);
  }
  FlowResult run(const FlowSpec& flow, std::map<std::string, std::unique_ptr<StageRunner>>& stages,
                 const FlowOptions& options) override {
    return engine_.run(flow, stages, options);
  }

 private:
  FlowEngine engine_;
};

}  // namespace

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

std::unique_ptr<FlowRunner> flow_engine(int threads) {
  return std::make_unique<EngineFlows>(threads);
}

RunSummary run_pipeline(CheckedPipeline& pipeline, const RunOptions& options, Display& display) {
  const std::unique_ptr<FlowRunner> flows = flow_engine(options.threads);
  return run_pipeline(pipeline, options, display, *flows);
}

}  // namespace seam::host
