#include "pipeline/experiments/sweep.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "pipeline/cli/loading.hpp"
#include "pipeline/experiments/comparison_text.hpp"
#include "pipeline/experiments/run_list.hpp"
#include "pipeline/plugins/ranks_engine.hpp"
#include "pipeline/run/ending.hpp"
#include "pipeline/run/parts.hpp"
#include "pipeline/text/terminal.hpp"

namespace seam::host {
namespace {

void say_line(const std::string& line) {
  std::cerr << line << std::endl;
}

SweepRequest request_of(const SweepArguments& arguments) {
  SweepRequest request;
  request.file = arguments.file;
  request.variants = arguments.variants;
  request.set = arguments.set;
  request.over = arguments.over;
  request.random = arguments.random;
  request.random_seed = arguments.random_seed;
  request.plugin_paths = arguments.plugin_paths;
  request.threads = arguments.threads;
  request.jobs = arguments.jobs.value_or(1);
  return request;
}

/// The command that runs one of `count` combinations as a shard.
std::string command_of(const SweepArguments& arguments, std::size_t number, std::size_t count) {
  std::string command = "seam sweep " + shell_word(arguments.file);
  const auto add = [&command](const std::string& option, const std::string& value) {
    command += " " + option + " " + shell_word(value);
  };
  for (const std::string& axis : arguments.over) add("--over", axis);
  if (arguments.random) add("--random", std::to_string(*arguments.random));
  if (arguments.random_seed) add("--random-seed", std::to_string(*arguments.random_seed));
  for (const std::string& variant : arguments.variants) add("--variant", variant);
  for (const std::string& setting : arguments.set) add("--set", setting);
  for (const std::string& path : arguments.plugin_paths) add("--plugin-path", path);
  if (arguments.threads) add("--threads", std::to_string(*arguments.threads));
  add("--sweep-dir", arguments.sweep_directory);
  return command + fmt::format(" --shard {}/{}", number, count);
}

/// Prints a comparison of the runs, if they have a headline metric.
void print_comparison(const std::filesystem::path& folder) {
  try {
    const Comparison comparison = compare_runs(runs_of_sweep(folder, ""), {});
    if (!comparison.rankings.empty())
      std::cout << "\n" << to_text(comparison, terminal_width(STDOUT_FILENO));
  } catch (const Error& error) {
    say_line("no table: " + error.full_message());
  }
}

}  // namespace

ExitCode sweep_verb(const SweepArguments& arguments) {
  SweepOptions options;
  options.jobs = arguments.jobs;
  options.threads = arguments.threads;
  options.environment = process_environment();  // before this process sets its thread variables
  forget_launch(options.environment);           // its runs are independent
  options.say = say_line;
  ChildProcesses children;
  std::filesystem::path folder = arguments.resume;
  if (arguments.resume.empty()) {
    SweepRequest request = request_of(arguments);
    request.environment = options.environment;
    std::filesystem::path directory = arguments.sweep_directory;
    if (!arguments.shard.empty()) {
      request.shard = shard_from(arguments.shard, options.environment);
      directory = part_folder(directory, request.shard);
    }
    const CheckedSweep sweep = check_sweep(request);
    report_problems(sweep.problems);
    if (has_errors(sweep.problems)) return ExitCode::configuration;
    if (sweep.plan.runs.empty()) {
      say_line("the sweep has fewer combinations than shards; shard " + to_text(request.shard) +
               " has none");
      return ExitCode::success;
    }
    if (arguments.dry_run) {
      for (const PlannedRun& run : sweep.plan.runs) std::cout << run.name << "\n";
      return ExitCode::success;
    }
    if (arguments.list) {
      const std::size_t count = sweep.plan.runs.size();
      for (std::size_t i = 0; i < count; ++i) std::cout << command_of(arguments, i, count) << "\n";
      return ExitCode::success;
    }
    if (!sweep.missing_data.empty()) {
      return report_error(missing_data_error("no run was started", sweep.missing_data));
    }
    if (!arguments.shard.empty()) refuse_other_shards(sweep.plan, directory);
    folder = !arguments.shard.empty() && is_sweep_folder(directory)
                 ? reopen_sweep(sweep, directory)
                 : create_sweep(sweep, directory);
  }
  const ExitCode code = execute_sweep(folder, options, children);
  print_comparison(folder);
  return code;
}

}  // namespace seam::host
