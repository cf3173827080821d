#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/cli/deep_check.hpp"
#include "pipeline/cli/loading.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/config/axis.hpp"
#include "pipeline/config/sweep.hpp"
#include "pipeline/experiments/sweep.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/run/twin.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

std::size_t errors_in(const std::vector<Problem>& problems) {
  return static_cast<std::size_t>(
      std::ranges::count(problems, Severity::error, &Problem::severity));
}

LoadOptions check_options(const std::string& file, const CheckArguments& arguments,
                          DescriptionCache* descriptions) {
  LoadOptions options;
  options.file = file;
  options.variants = arguments.variants;
  options.overrides = arguments.set;
  options.plugin_paths = arguments.plugin_paths;
  options.environment = process_environment();
  options.descriptions = descriptions;
  return options;
}

/// Checks the file with each combination of its variants. Adds the problems that the file without
/// variants does not have, each with the first combination that has it. Returns the number of
/// combinations.
std::size_t check_variants_of(const LoadOptions& base, const VariantNames& variants,
                              std::vector<Problem>& problems) {
  const auto choices = choices_of(variants);
  const auto same = [](const Problem& a, const Problem& b) {
    return std::tie(a.code, a.message, a.place.file, a.place.line, a.place.column) ==
           std::tie(b.code, b.message, b.place.file, b.place.line, b.place.column);
  };
  for (const std::vector<std::string>& choice : choices) {
    LoadOptions options = base;
    options.variants = choice;
    std::string names;
    for (const std::string& name : choice) names += (names.empty() ? "" : ",") + name;
    for (Problem& problem : prepare_run(std::move(options), std::nullopt).loaded.problems) {
      if (std::ranges::any_of(problems, [&](const Problem& one) { return same(one, problem); }))
        continue;
      problem.notes.push_back("with --variant " + names);
      problems.push_back(std::move(problem));
    }
  }
  return choices.size();
}

/// Compares the file with its twin, if it has one. Returns "; twin of a.toml but for stage.model".
std::string check_twin_of(const LoadOptions& base, const PipelineSpec& spec,
                          std::vector<Problem>& problems) {
  const std::filesystem::path file = twin_of(spec);
  if (file.empty() && !spec.differs_in.empty()) {
    problems.push_back(twin_problem(spec, "`differs_in` has no effect without `twin`"));
  }
  // Overrides and variants may be meant to change one of the two.
  if (file.empty() || !base.overrides.empty() || !base.variants.empty()) return {};
  LoadOptions options = base;
  options.file = file;
  const LoadResult twin = load_pipeline(options);
  if (!twin.pipeline) {
    problems.push_back(twin_problem(spec, "its twin '" + file.string() + "' has errors"));
    return {};
  }
  for (Problem& problem : check_twin(spec, twin.pipeline->spec.resolved)) {
    problems.push_back(std::move(problem));
  }
  return "; twin of " + spec.twin +
         (spec.differs_in.empty() ? "" : " but for " + enumerated(spec.differs_in));
}

/// Whether the sweep goes over variants of a group from which one was chosen, or over all those
/// without a group: it then cannot run with this choice.
bool goes_over_chosen(const LoadedSweep& table, const std::vector<std::string>& chosen) {
  try {
    const std::vector<Axis> axes = parse_axes(table.spec.over, table.variants);
    return std::ranges::any_of(chosen, [&](const std::string& variant) {
      const VariantGroup* group = table.variants.group_of(variant);
      return std::ranges::any_of(axes, [&](const Axis& axis) {
        const std::string& key = axis.keys.front();
        return (group != nullptr && key == "variant." + group->name) ||
               std::ranges::find(axis.values, variant) != axis.values.end();
      });
    });
  } catch (const Error&) {
    return false;  // the check of the sweep reports it
  }
}

/// Checks the runs of the file's [sweep], if it has one, and returns their number.
std::size_t check_runs_of_sweep(const std::string& file, const CheckArguments& arguments,
                                std::vector<Problem>& problems) {
  SweepRequest request;
  request.file = file;
  request.variants = arguments.variants;
  request.set = arguments.set;
  request.plugin_paths = arguments.plugin_paths;
  request.environment = process_environment();
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
  ExitCode of_deep = ExitCode::success;  // of the first file that fails
  std::optional<DeepCheck> deep;
  if (arguments.deep || arguments.data) deep.emplace();
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  for (const std::string& file : arguments.files) {
    const LoadOptions options = check_options(file, arguments, deep ? nullptr : descriptions.get());
    LoadOptions to_prepare = options;
    if (arguments.deep) to_prepare.count_categories = deep->count_categories();
    PreparedRun prepared = prepare_run(std::move(to_prepare), std::nullopt);
    LoadResult& loaded = prepared.loaded;
    std::size_t choices = 0;
    std::size_t runs = 0;
    std::string twin;
    if (loaded.pipeline && std::filesystem::is_regular_file(file)) {  // a pipe is read only once
      const LoadedSweep table = load_sweep(file, options.overrides, options.environment);
      if (options.variants.empty()) {
        choices = check_variants_of(options, table.variants, loaded.problems);
      }
      twin = check_twin_of(options, loaded.pipeline->spec, loaded.problems);
      if (!table.spec.over.empty() && !goes_over_chosen(table, options.variants))
        runs = check_runs_of_sweep(file, arguments, loaded.problems);
    }
    all.insert(all.end(), loaded.problems.begin(), loaded.problems.end());
    if (arguments.json) continue;
    report_problems(loaded.problems);
    if (errors_in(loaded.problems) == 0) {
      const PipelineSpec& spec = loaded.pipeline->spec;
      std::cout << file << ": ok: " << counted(spec.stages.size(), "stage") << ", "
                << counted(spec.flows.size(), "flow")
                << (choices > 0 ? "; " + counted(choices, "combination") + " of variants" : "")
                << (runs > 0 ? "; a sweep of " + counted(runs, "run") : "") << twin << std::endl;
      if (!deep) continue;
      const ExitCode code = arguments.deep
                                ? deep->check(file, *loaded.pipeline, prepared.threads)
                                : deep->check_data(file, *loaded.pipeline, prepared.threads);
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
