#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "pipeline/cli/report.hpp"
#include "pipeline/cli/verbs.hpp"
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

}  // namespace

ExitCode check_verb(const CheckArguments& arguments) {
  std::vector<Problem> all;
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  for (const std::string& file : arguments.files) {
    LoadOptions options;
    options.file = file;
    options.overrides = arguments.set;
    options.plugin_paths = arguments.plugin_paths;
    options.environment = process_environment();
    options.descriptions = descriptions.get();
    const LoadResult loaded = prepare_run(std::move(options), std::nullopt).loaded;
    all.insert(all.end(), loaded.problems.begin(), loaded.problems.end());
    if (arguments.json) continue;
    report_problems(loaded.problems);
    if (loaded.pipeline) {
      const PipelineSpec& spec = loaded.pipeline->spec;
      std::cout << file << ": ok: " << counted(spec.stages.size(), "stage") << ", "
                << counted(spec.flows.size(), "flow") << std::endl;
    } else {
      std::cerr << file << ": " << counted(errors_in(loaded.problems), "error") << std::endl;
    }
  }
  if (arguments.json) std::cout << to_json(all) << std::flush;
  return errors_in(all) == 0 ? ExitCode::success : ExitCode::configuration;
}

}  // namespace seam::host
