#include "pipeline/run/network_of.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

#include "pipeline/run/run_stages.hpp"
#include "pipeline/text/lists.hpp"
#include "seam/context.hpp"
#include "seam/field.hpp"

namespace seam::host {
namespace {

/// Without a run, nothing is recorded; only warnings and errors are printed.
class WarningsOnly final : public Services {
 public:
  void log(LogLevel level, std::string_view stage, std::string_view text) override {
    if (level < LogLevel::warning) return;
    std::cerr << "seam: " << (level == LogLevel::error ? "error" : "warning") << ": " << stage
              << ": " << text << std::endl;
  }
  void metric(std::string_view /*stage*/, std::string_view /*name*/, double /*value*/) override {}
  void report(std::string_view /*stage*/, std::string_view /*title*/,
              std::string_view /*text*/) override {}
  [[nodiscard]] bool stop_requested() const override { return false; }
};

/// A stage and the stages that it refers to, open during the lifetime of this object.
class OpenStages {
 public:
  OpenStages(CheckedPipeline& pipeline, const RunState& run) : pipeline_(pipeline), run_(run) {}
  OpenStages& operator=(OpenStages&&) = delete;  // not copyable
  ~OpenStages() {
    for (auto runner = opened_.rbegin(); runner != opened_.rend(); ++runner) {
      try {
        (*runner)->close();
      } catch (const Error& error) {
        run_.services->log(LogLevel::warning, (*runner)->name(), error.full_message());
      }
    }
  }

  /// The loader has checked that references are not circular.
  void open(const std::string& name) {
    StageRunner& runner = *pipeline_.stages.at(name);
    if (contains(opened_, &runner)) return;
    const auto spec = std::ranges::find(pipeline_.spec.stages, name, &StageSpec::name);
    for (const auto& [parameter, target] : spec->references) open(target);
    const std::vector<StageRunner*> upstream = upstream_of(pipeline_, name);
    for (const UpstreamReference& wanted : runner.description().upstream) {
      for (const StageRunner* before : upstream) {
        if (before->interface(wanted.interface) != nullptr) open(before->name());
      }
    }
    runner.bind_upstream(upstream);
    runner.open(run_);
    opened_.push_back(&runner);
  }

 private:
  CheckedPipeline& pipeline_;
  const RunState& run_;
  std::vector<StageRunner*> opened_;
};

}  // namespace

std::optional<NetworkPart> network_of(CheckedPipeline& pipeline, const std::string& stage,
                                      int threads) {
  const StageRunner& runner = *pipeline.stages.at(stage);
  auto* const describes =
      static_cast<DescribesNetwork*>(runner.interface(type_name<DescribesNetwork>()));
  if (describes == nullptr) return std::nullopt;
  WarningsOnly services;
  RunState run;
  run.services = &services;
  run.seed = pipeline.spec.seed;
  run.compute_threads = threads;
  run.precision = pipeline.spec.precision;
  run.deterministic = pipeline.spec.deterministic;
  OpenStages open_stages(pipeline, run);
  open_stages.open(stage);
  return describes->describe_network();
}

}  // namespace seam::host
