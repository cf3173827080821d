#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/cli/deep_check.hpp"
#include "pipeline/cli/report.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/config/sweep.hpp"
#include "pipeline/experiments/sweep.hpp"
#include "pipeline/run/run.hpp"

namespace seam::host {
namespace {

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::size_t errors_in(const std::vector<Problem>& problems) {
  return static_cast<std::size_t>(
      std::ranges::count(problems, Severity::error, &Problem::severity));
}

/// Checks the runs of the file's [sweep] as well, if it has one; how many there are.
std::size_t check_runs_of_sweep(const std::string& file, const CheckArguments& arguments,
                                std::vector<Problem>& problems) {
  if (!std::filesystem::is_regular_file(file)) return 0;  // a pipe can be read only once
  SweepRequest request;
  request.file = file;
  request.set = arguments.set;
  request.plugin_paths = arguments.plugin_paths;
  request.environment = process_environment();
  if (load_sweep(file, request.set, request.environment).spec.over.empty()) return 0;
  try {
    CheckedSweep sweep = check_sweep(request);
    for (Problem& problem : sweep.problems) {
      if (problem.severity == Severity::error) problems.push_back(std::move(problem));
    }
    return sweep.plan.runs.size();
  } catch (const Error& error) {
    Problem problem;
    problem.code = "sweep";
    problem.message = "[sweep]: " + error.full_message();
    problem.place.file = file;
    problems.push_back(std::move(problem));
    return 0;
  }
}

}  // namespace

ExitCode check_verb(const CheckArguments& arguments) {
  std::vector<Problem> all;
  ExitCode of_deep = ExitCode::success;  // of the first file whose stages do not work
  std::optional<DeepCheck> deep;
  if (arguments.deep) deep.emplace();
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  for (const std::string& file : arguments.files) {
    LoadOptions options;
    options.file = file;
    options.overrides = arguments.set;
    options.plugin_paths = arguments.plugin_paths;
    options.environment = process_environment();
    if (!deep) options.descriptions = descriptions.get();
    PreparedRun prepared = prepare_run(std::move(options), std::nullopt);
    LoadResult& loaded = prepared.loaded;
    const std::size_t runs =
        loaded.pipeline ? check_runs_of_sweep(file, arguments, loaded.problems) : 0;
    all.insert(all.end(), loaded.problems.begin(), loaded.problems.end());
    if (arguments.json) continue;
    report_problems(loaded.problems);
    if (errors_in(loaded.problems) == 0) {
      const PipelineSpec& spec = loaded.pipeline->spec;
      std::cout << file << ": ok: " << counted(spec.stages.size(), "stage") << ", "
                << counted(spec.flows.size(), "flow")
                << (runs > 0 ? "; a sweep of " + counted(runs, "run") : "") << std::endl;
      if (!deep) continue;
      const ExitCode code = deep->check(file, *loaded.pipeline, prepared.threads);
      if (of_deep == ExitCode::success) of_deep = code;
      if (code == ExitCode::cancelled) break;
    } else {
      std::cerr << file << ": " << counted(errors_in(loaded.problems), "error") << std::endl;
    }
  }
  if (arguments.json) std::cout << to_json(all) << std::flush;
  return errors_in(all) == 0 ? of_deep : ExitCode::configuration;
}

}  // namespace seam::host
