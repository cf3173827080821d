#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include "pipeline/cli/loading.hpp"
#include "pipeline/cli/trial.hpp"
#include "pipeline/run/counted_categories.hpp"
#include "pipeline/run/headspace.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace {

constexpr std::chrono::seconds measured_time{10};

/// The first scheduled flow that trains. Throws seam::Error (configuration) if there is none.
std::string training_flow(const CheckedPipeline& pipeline) {
  for (const std::string& flow : scheduled_flows(pipeline.spec.schedule)) {
    if (trains(pipeline, flow_named(pipeline.spec, flow))) return flow;
  }
  refuse("--headspace measures a training step, but no scheduled flow of '{}' trains",
         pipeline.spec.file);
}

}  // namespace

ExitCode headspace_verb(LoadOptions to_load, const RunArguments& arguments) {
  TrialStop stop;
  std::ostringstream tables;  // not shown: those of a few seconds mean nothing
  Display display(tables, std::cerr, Display::Style::quiet);
  to_load.count_categories = category_count(&display, &stop.state);
  PreparedRun prepared = prepare_run(std::move(to_load), arguments.threads);
  report_problems(prepared.loaded.problems);
  if (!prepared.loaded.pipeline) return ExitCode::configuration;
  CheckedPipeline& pipeline = *prepared.loaded.pipeline;
  if (!pipeline.missing_data.empty()) {
    return report_error(
        missing_data_error("--headspace cannot open the stages", pipeline.missing_data));
  }
  refuse_writing_elsewhere(pipeline, "--headspace");
  const std::string flow = training_flow(pipeline);
  // Of the schedule, the number of epochs remains, because rates may depend on it, and the flows
  // before the training, which it may need.
  ScheduleSpec schedule;
  schedule.epochs = pipeline.spec.schedule.epochs;
  for (const std::string& one : scheduled_flows(pipeline.spec.schedule)) {
    schedule.before.push_back(one);
    if (one == flow) break;
  }
  (void)step_input(flow_named(pipeline.spec, flow),
                   pipeline.stages);  // reported before the data is read
  pipeline.spec.schedule = std::move(schedule);
  pipeline.spec.tensorboard.reset();

  const ScratchFolder folder;
  RunOptions options = trial_options(pipeline, folder, prepared.threads, stop.state);
  options.extent = Extent::first_batch;  // as in a check: no checkpoints
  FlowEngine engine(prepared.threads);
  HeadspaceFlows flows(engine, measured_time);
  const RunSummary summary = run_pipeline(pipeline, options, display, flows);
  if (summary.error) return report_error(*summary.error);
  if (flows.measured()) std::cout << to_text(*flows.measured()) << std::flush;
  return summary.code;
}

}  // namespace seam::host
