#include "pipeline/run/run.hpp"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

#include "pipeline/cli/report.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/stop_signals.hpp"
#include "pipeline/run/time_limit.hpp"
#include "pipeline/run/watchdog.hpp"

namespace seam::host {
namespace {

Display::Style style_of(const RunArguments& arguments) {
  if (arguments.quiet) return Display::Style::quiet;
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return ::isatty(STDERR_FILENO) == 1 && !dumb ? Display::Style::terminal : Display::Style::plain;
}

ColourUse colour_of(const RunArguments& arguments) {
  if (arguments.colour == "always") return ColourUse::always;
  return arguments.colour == "never" ? ColourUse::never : ColourUse::automatic;
}

LoadOptions load_options(const RunArguments& arguments) {
  if (!arguments.resume.empty()) {
    LoadOptions options = resume_options(arguments.resume, arguments.plugin_paths);
    options.overrides = arguments.set;
    return options;
  }
  LoadOptions options;
  options.file = arguments.file;
  options.overrides = arguments.set;
  // As --set, so that the run's folder says what it was computed with.
  if (!arguments.device.empty()) {
    options.overrides.push_back("pipeline.device=\"" + arguments.device + "\"");
  }
  if (!arguments.precision.empty()) {
    options.overrides.push_back("pipeline.precision=\"" + arguments.precision + "\"");
  }
  if (arguments.deterministic) {
    options.overrides.push_back("pipeline.deterministic=" +
                                std::string(*arguments.deterministic ? "true" : "false"));
  }
  // Not as an override, which would replace a table of the file's.
  if (arguments.tensorboard) options.event_file = EventFileUse::always;
  options.plugin_paths = arguments.plugin_paths;
  return options;
}

/// The pipeline of a run that goes on without what --set says of it. None: there were errors.
std::optional<PipelineSpec> unchanged_spec(const RunArguments& arguments, int threads) {
  LoadOptions options = resume_options(arguments.resume, arguments.plugin_paths);
  options.environment = process_environment();
  options.decide_threads = [threads](std::optional<int> /*in_file*/) { return threads; };
  LoadResult loaded = load_pipeline(options);
  if (loaded.pipeline) return std::move(loaded.pipeline->spec);
  report_problems(loaded.problems);
  return std::nullopt;
}

/// What the other options say of a run that goes on holds for this process; its resolved.toml
/// stays.
void go_on_with(const RunArguments& arguments, PipelineSpec& spec) {
  if (!arguments.device.empty()) spec.device = arguments.device;
  if (!arguments.precision.empty()) {
    spec.precision = arguments.precision == "bfloat16" ? Precision::bfloat16 : Precision::float32;
  }
  if (arguments.deterministic) spec.deterministic = *arguments.deterministic;
  if (arguments.tensorboard && !spec.tensorboard) spec.tensorboard.emplace();
}

}  // namespace

ExitCode run_verb(const RunArguments& arguments) {
  RunOptions options;
  const bool resume = !arguments.resume.empty();
  LoadOptions to_load = load_options(arguments);
  if (resume) options.resolved_toml = read_text_file(to_load.file);
  to_load.environment = process_environment();
  StopSignals::block();  // the display has a thread
  StopState stop;
  const ColourUse colour = colour_of(arguments);
  Display display(std::cout, std::cerr, style_of(arguments),
                  {screen_of(STDOUT_FILENO, colour), screen_of(STDERR_FILENO, colour)});
  const StopSignals signals(
      stop,
      [&display](int count) {
        display.message(count == 1
                            ? "stopping after the current step; press Ctrl-C again to cancel it"
                            : "cancelling: stages have one second to finish");
      },
      [&display] {
        const Display::Now now = display.now();
        display.message(overdue_text(now.activity, now.run_directory));
        // A thread that is inside a stage cannot be ended from outside, and destructors would wait
        // for it. Files appear whole or not at all, so that nothing is half written.
        std::_Exit(static_cast<int>(ExitCode::cancelled));
      });
  std::optional<TimeLimit> time_limit;
  if (const auto limit = duration_of(arguments.time_limit)) {
    time_limit.emplace(stop, *limit, [&display] {
      display.message("the time limit is reached: stopping after the step under way");
    });
  }
  PreparedRun prepared = prepare_run(std::move(to_load), arguments.threads);
  report_problems(prepared.loaded.problems);
  if (!prepared.loaded.pipeline) return ExitCode::configuration;
  // A run that is complete needs no data; one that is not says what is missing when it opens it.
  const auto& missing = prepared.loaded.pipeline->missing_data;
  if (arguments.resume.empty() && !missing.empty()) {
    std::string text = "the run was not started, because data is missing:";
    for (const std::string& sentence : missing) text += "\n  " + sentence;
    return report_error(Error(text, Fault::data));
  }

  std::optional<PipelineSpec> unchanged;
  if (resume && !arguments.set.empty()) {
    unchanged = unchanged_spec(arguments, prepared.threads);
    if (!unchanged) return ExitCode::configuration;
    options.unchanged = &*unchanged;
  }
  options.start = resume ? Start::resume : Start::fresh;
  options.run_directory = resume ? arguments.resume : arguments.run_directory;
  options.threads = prepared.threads;
  if (resume) go_on_with(arguments, prepared.loaded.pipeline->spec);
  options.numerics = numerics_for(*prepared.loaded.pipeline);
  obey_numerics(options.numerics);
  options.stop = &stop;
  options.timing = arguments.timing ? Timing::whole : Timing::brief;
  options.trace = arguments.trace;
  const RunSummary summary = run_pipeline(*prepared.loaded.pipeline, options, display);
  if (summary.error) report_error(*summary.error);
  return summary.code;
}

}  // namespace seam::host
