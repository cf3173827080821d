#include "pipeline/run/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <seam/category_outputs.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/cli/ranked_run.hpp"
#include "pipeline/experiments/run_folder.hpp"
#include "pipeline/plugins/ranks_engine.hpp"
#include "pipeline/run/checkpoint_metadata.hpp"
#include "pipeline/run/counted_categories.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/evaluation.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/freed_memory.hpp"
#include "pipeline/run/from_run.hpp"
#include "pipeline/run/parts.hpp"
#include "pipeline/run/selection.hpp"
#include "pipeline/run/stop_signals.hpp"
#include "pipeline/run/watchdog.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"
#include "sdk/src/running_call.hpp"
#include "sdk/src/weights_metadata.hpp"

namespace seam::host {
namespace {

Display::Style style_of(const RunArguments& arguments) {
  if (arguments.json) return Display::Style::json;
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): never set here
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  const bool on_terminal = ::isatty(STDERR_FILENO) == 1 && !dumb;
  if (arguments.quiet) return on_terminal ? Display::Style::progress : Display::Style::quiet;
  return on_terminal ? Display::Style::terminal : Display::Style::plain;
}

ColourUse colour_of(const RunArguments& arguments) {
  if (arguments.colour == "always") return ColourUse::always;
  return arguments.colour == "never" ? ColourUse::never : ColourUse::automatic;
}

/// Returns the options that change the pipeline, as --set does, so that the run folder records
/// them.
std::vector<std::string> overrides_of(const RunArguments& arguments) {
  std::vector<std::string> overrides = arguments.set;
  if (!arguments.device.empty()) {
    overrides.push_back("pipeline.device=\"" + arguments.device + "\"");
  }
  if (!arguments.precision.empty()) {
    overrides.push_back("pipeline.precision=\"" + arguments.precision + "\"");
  }
  if (arguments.deterministic) {
    overrides.push_back("pipeline.deterministic=" +
                        std::string(*arguments.deterministic ? "true" : "false"));
  }
  return overrides;
}

LoadOptions options_for(const RunArguments& arguments, Start start, CategoryCount count) {
  LoadOptions options;
  if (!arguments.evaluate.empty()) {
    options = earlier_run_options(arguments.evaluate, arguments.plugin_paths);
  } else if (start == Start::fresh) {
    options = file_options(arguments);
  } else {
    options = earlier_run_options(start == Start::resume ? arguments.resume : arguments.from,
                                  arguments.plugin_paths);
  }
  if (start != Start::resume) {
    options.overrides = overrides_of(arguments);
    // Not as an override, which would replace the table `tensorboard` of the file.
    if (arguments.tensorboard) options.event_file = EventFileUse::always;
  }
  options.environment = process_environment();
  // An earlier run has recorded the numbers.
  if (start == Start::fresh && arguments.evaluate.empty()) {
    options.count_categories = std::move(count);
  }
  return options;
}

/// Replaces `prepared` by the pipeline that evaluates the run again. Reports errors and returns
/// false if there are any.
bool make_evaluation(LoadOptions to_load, const RunArguments& arguments, PreparedRun& prepared,
                     RunOptions& options) {
  const std::string& run = arguments.evaluate;
  const RunFolder folder = read_run(run, run);
  if (folder.state != RunState::complete) {
    refuse("'{}' is not a complete run ({} after {} of {} epochs); seam eval requires one", run,
           state_text(folder.state), folder.epochs_done, folder.epochs);
  }
  LoadOptions as_trained = to_load;
  as_trained.overrides.clear();
  const PreparedRun trained = prepare_run(std::move(as_trained), arguments.threads);
  if (!trained.loaded.pipeline) {
    report_problems(trained.loaded.problems);
    return false;
  }
  for (std::string& one : evaluation_overrides(*trained.loaded.pipeline, *prepared.loaded.pipeline,
                                               run, arguments.set)) {
    to_load.overrides.push_back(std::move(one));
  }
  const std::string training = trained.loaded.pipeline->spec.resolved;
  const PipelineSpec& changed = prepared.loaded.pipeline->spec;
  for (const Difference& one :
       in_results(differences_between(training, changed.resolved), changed.roles)) {
    options.evaluated_with[one.key] = one.now.value_or("");
  }
  prepared = prepare_run(std::move(to_load), arguments.threads);
  // Training flows are not scheduled on purpose.
  std::erase_if(prepared.loaded.problems,
                [](const Problem& one) { return one.code == "flow-unscheduled"; });
  report_problems(prepared.loaded.problems);
  if (!prepared.loaded.pipeline) return false;
  const WeightsFile weights = weights_file(run);
  if (const auto before = pipeline_in(weights.chooser)) {
    const std::string now = read_text_file(std::filesystem::path(run) / "resolved.toml");
    refuse_edited(*before, pipeline_below_head(now), prepared.loaded.pipeline->spec.roles,
                  weights.path.filename().string(), run);
  }
  options.evaluates = {std::filesystem::absolute(run).lexically_normal().string(),
                       weights.path.filename().string(),
                       {},
                       selection_of(weights)};
  const std::string& resolved = prepared.loaded.pipeline->spec.resolved;
  for (const Difference& one : differences_between(training, resolved)) {
    options.trained_with[one.key] = one.before.value_or("");
  }
  // A resumed process may have changed it: the folder has that of the last one.
  const std::string precision = "pipeline.precision";
  const Parameters now = parameters_of(resolved, run);
  const auto last = folder.parameters.find(precision);
  const auto same = now.find(precision);
  if (last != folder.parameters.end() && same != now.end() && last->second != same->second) {
    options.trained_with[precision] = last->second;
  }
  return true;
}

/// Loads a pipeline to compare with the one that runs. Reports errors; nullopt if there are any.
std::optional<PipelineSpec> other_spec(LoadOptions options, int threads) {
  options.environment = process_environment();
  options.decide_threads = [threads](std::optional<int> /*in_file*/) { return threads; };
  LoadResult loaded = load_pipeline(options);
  if (loaded.pipeline) return std::move(loaded.pipeline->spec);
  report_problems(loaded.problems);
  return std::nullopt;
}

/// Throws seam::Error (configuration) if the command would begin a different run than the one that
/// it resumes, whose pipeline is `recorded`: one that does not start from another run's checkpoint,
/// or one with different initial weights under the same name.
void refuse_other_beginning(const CheckedPipeline& recorded, const RunArguments& arguments) {
  const std::string& folder = arguments.run_directory;
  const Launch launch = read_launch(folder);
  const bool evaluates = !launch.evaluates.run.empty();
  if (evaluates || !launch.from.run.empty()) {
    refuse(
        "the run in '{}' {} {}, so it is not the one that '{}' describes; choose another "
        "--run-dir, or continue that run: seam run --resume {}",
        folder, evaluates ? "evaluates" : "was started from",
        to_text(evaluates ? launch.evaluates : launch.from), arguments.file, folder);
  }
  const auto changed = changed_data(launch.initial, initial_files(recorded, Lost::left_out));
  if (changed.empty()) return;
  refuse(
      "the content of {} has changed since the run in '{}' was started; choose another --run-dir, "
      "or continue that run with its own weights: seam run --resume {}",
      enumerated(changed), folder, folder);
}

/// Throws seam::Error (configuration) if the command would change the results of the run that it
/// resumes. `recorded`: the pipeline of the run in the folder; `asked`: that of the file and --set.
void refuse_other_pipeline(const CheckedPipeline& recorded, const PipelineSpec& asked,
                           const RunArguments& arguments, Display& display) {
  std::vector<Difference> all =
      set_by_users(differences_between(recorded.spec.resolved, asked.resolved));
  // `asked` opens no data, which may be gone, and so lacks the numbers that the run has counted.
  for (const auto& [name, stage] : recorded.stages) {
    if (stage->interface(type_name<CategoryOutputs>()) == nullptr) continue;
    std::erase_if(all, [&name = name](const Difference& one) {
      return one.key == "stage." + name + ".classes" && !one.now;
    });
  }
  const std::vector<Difference> differences = in_results(all, asked.roles);
  if (!differences.empty()) {
    refuse(
        "the run in '{}' has a different pipeline from '{}': {}; choose another --run-dir, or "
        "continue that run with its own values: seam run --resume {}",
        arguments.run_directory, arguments.file, to_text(differences), arguments.run_directory);
  }
  if (!all.empty()) {
    display.message("the run continues with its own values, not these: " + to_text(all));
  }
}

/// Applies the other options to a resumed run, for this process only; resolved.toml is not changed.
void go_on_with(const RunArguments& arguments, PipelineSpec& spec) {
  if (!arguments.device.empty()) spec.device = arguments.device;
  if (!arguments.precision.empty()) {
    spec.precision = arguments.precision == "bfloat16" ? Precision::bfloat16 : Precision::float32;
  }
  if (arguments.deterministic) spec.deterministic = *arguments.deterministic;
  if (arguments.tensorboard && !spec.tensorboard) spec.tensorboard.emplace();
}

/// With --shard, makes --run-dir the folder of the part, and resumes the run in it. With --resume,
/// returns the shard of the run.
std::optional<Shard> take_shard(RunArguments& arguments) {
  if (!arguments.resume.empty()) {
    const std::optional<Shard> shard = recorded_shard(arguments.resume);
    if (shard) arguments.run_directory = std::filesystem::canonical(arguments.resume).string();
    return shard;
  }
  if (arguments.shard.empty()) return std::nullopt;
  const Shard shard = shard_from(arguments.shard, process_environment());
  arguments.run_directory = part_folder(arguments.run_directory, shard).string();
  arguments.resume_if_present = true;
  return shard;
}

/// Returns whether the part is complete. Throws seam::Error if it does not fit the parts beside it,
/// or if its files have changed.
bool is_part_done(const std::string& part, const Shard& shard, const CheckedPipeline& pipeline) {
  refuse_other_parts(std::filesystem::path(part).parent_path(), shard, inputs_of(pipeline));
  if (!is_run_folder(part) || read_run(part, part).state != RunState::complete) return false;
  const std::string damage = damage_of(part);
  if (damage.empty()) return true;
  throw Error(
      "'" + part + "' is damaged: " + damage + "; remove this folder and run the shard again",
      Fault::data);
}

/// `unit`: after which the run stops.
std::string notice_text(StopNotice notice, const std::string& unit) {
  switch (notice) {
    case StopNotice::asked:
      return "stopping after the current " + unit +
             "; press Ctrl-C again to stop without waiting for it";
    case StopNotice::cancelled:
      return "cancelling: stages have one second to finish";
    case StopNotice::time_is_up:
      return "time limit reached; stopping after the current " + unit;
    case StopNotice::overrun:
      return "the run did not stop at its time limit: cancelling; stages have one second to "
             "finish";
  }
  return "";
}

/// The last line of --json, and the exit code.
ExitCode end_of(const RunArguments& arguments, const std::string& run, bool complete, int code) {
  if (arguments.json) {
    std::cout << json_line({{"run", run}, {"complete", complete}, {"exit_code", code}})
              << std::endl;
  }
  return static_cast<ExitCode>(code);
}

/// Returns how the run starts. With --resume-if-present, a run in the folder is resumed.
Start start_of(RunArguments& arguments) {
  if (arguments.resume_if_present && is_run_folder(arguments.run_directory)) {
    arguments.resume = arguments.run_directory;
  }
  if (!arguments.resume.empty()) return Start::resume;
  return arguments.from.empty() ? Start::fresh : Start::from;
}

/// `ranks`: null if this process runs all by itself.
ExitCode run_in(RunArguments arguments, Ranks* ranks) {
  const std::optional<Shard> shard = take_shard(arguments);
  if (shard && ranks != nullptr) {
    refuse("a shard is run by one process; start it without mpirun or srun");
  }
  const Start start = start_of(arguments);
  if (arguments.headspace) return headspace_verb(options_for(arguments, start, {}), arguments);
  StopSignals::block();  // the display has a thread
  StopState stop;
  const std::string unit = ranks == nullptr ? "step" : "training step or evaluation";
  const ColourUse colour = colour_of(arguments);
  Display display(std::cout, std::cerr, style_of(arguments),
                  {screen_of(STDOUT_FILENO, colour), screen_of(STDERR_FILENO, colour)});
  const StopSignals signals(
      stop, duration_of(arguments.time_limit), arguments.stopped_code,
      [&display, &unit, ranks](StopNotice notice) {
        if (ranks != nullptr) ranks->ask_to_stop();
        display.message(notice_text(notice, unit));
      },
      [&display, &arguments, ranks] {
        const Display::Now now = display.now();
        display.message(overdue_text(now.activity, now.run_directory));
        // A thread that is inside a stage cannot be ended from outside, and destructors would wait
        // for it. Files are written completely or not at all, so none is left incomplete.
        if (ranks != nullptr) ranks->abort(arguments.stopped_code);
        end_program(arguments.stopped_code);
      });
  const CategoryCount count = category_count(&display, &stop);
  LoadOptions to_load = options_for(arguments, start, count);
  PreparedRun prepared = prepare_run(to_load, arguments.threads);
  const bool evaluates = !arguments.evaluate.empty();
  if (!evaluates || !prepared.loaded.pipeline) report_problems(prepared.loaded.problems);
  if (!prepared.loaded.pipeline) return ExitCode::configuration;
  RunOptions options;
  if (evaluates && !make_evaluation(std::move(to_load), arguments, prepared, options)) {
    return ExitCode::configuration;
  }
  // A complete run needs no data, and an incomplete one reports missing data when it opens it.
  const auto& missing = prepared.loaded.pipeline->missing_data;
  if (start != Start::resume && !missing.empty()) {
    return report_error(missing_data_error("the run was not started", missing));
  }

  if (ranks != nullptr) refuse_unless_shareable(*prepared.loaded.pipeline, *ranks);

  std::optional<PipelineSpec> before;
  if (start == Start::from) {
    before =
        other_spec(earlier_run_options(arguments.from, arguments.plugin_paths), prepared.threads);
    if (!before) return ExitCode::configuration;
    options.from = arguments.from;
    options.before = &*before;
  } else if (start == Start::resume && arguments.resume_if_present) {
    refuse_other_beginning(*prepared.loaded.pipeline, arguments);
    const auto asked = other_spec(options_for(arguments, Start::fresh, {}), prepared.threads);
    if (!asked) return ExitCode::configuration;
    refuse_other_pipeline(*prepared.loaded.pipeline, *asked, arguments, display);
  }
  if (start == Start::resume) go_on_with(arguments, prepared.loaded.pipeline->spec);
  if (shard && is_part_done(arguments.run_directory, *shard, *prepared.loaded.pipeline)) {
    display.message(fmt::format("shard {} is complete in '{}'; there is nothing left to do",
                                to_text(*shard), arguments.run_directory));
    return end_of(arguments, arguments.run_directory, true, 0);
  }
  options.shard = shard;
  options.environment = process_environment();
  options.start = start;
  options.run_directory = start == Start::resume ? arguments.resume : arguments.run_directory;
  options.threads = prepared.threads;
  options.numerics = numerics_for(*prepared.loaded.pipeline);
  obey_numerics(options.numerics);
  options.ranks = ranks;
  if (ranks == nullptr) options.stop = &stop;  // a rank that stopped by itself would be missing
  options.timing = arguments.timing ? Timing::whole : Timing::brief;
  options.trace = arguments.trace;
  const RunSummary summary = run_pipeline(*prepared.loaded.pipeline, options, display);
  if (summary.error) report_error(*summary.error);
  const bool cancelled = summary.code == ExitCode::cancelled;
  const int code = cancelled ? arguments.stopped_code : static_cast<int>(summary.code);
  return end_of(arguments, summary.run_directory.string(), summary.complete, code);
}

}  // namespace

ExitCode run_verb(RunArguments arguments) {
  keep_freed_memory();  // before there are other threads
  const Launched launch = launched(process_environment());
  if (launch.world == 1 || !arguments.shard.empty()) return run_in(std::move(arguments), nullptr);
  StopSignals::block();  // MPI has threads
  const std::unique_ptr<Ranks> ranks = join_ranks(launch);
  return run_as_rank(std::move(arguments), *ranks, [&ranks](RunArguments of_rank) {
    return run_in(std::move(of_rank), ranks.get());
  });
}

}  // namespace seam::host
