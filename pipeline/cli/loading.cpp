#include "pipeline/cli/loading.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "pipeline/plugins/description_cache.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {

ExitCode report_error(const Error& error) {
  std::cerr << "seam: error: " << error.full_message() << std::endl;
  return exit_code_of(error.fault());
}

Error missing_data_error(const std::string& doing, const std::vector<std::string>& missing) {
  std::string text = doing + ", because data is missing:";
  for (const std::string& sentence : missing) text += "\n  " + sentence;
  return Error(text, Fault::data);
}

void report_problems(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) {
    const std::string text = to_text(problem);
    std::cerr << text << (text.ends_with('\n') ? "" : "\n");
  }
  std::cerr.flush();
}

std::optional<CheckedPipeline> load_or_report(LoadOptions options) {
  options.environment = process_environment();
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  options.descriptions = descriptions.get();
  LoadResult loaded = prepare_run(std::move(options), std::nullopt).loaded;
  report_problems(loaded.problems);
  return std::move(loaded.pipeline);
}

void for_each_stage(Registry& registry, const std::function<void(const StageRunner&)>& use) {
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  for (const std::string& type : registry.stage_names()) {
    if (registry.find_all(type).size() > 1) continue;  // ambiguous: a file that uses it is rejected
    try {
      use(*registry.describe(type, type, descriptions.get()));
    } catch (const Error& error) {  // continue with the others
      std::cerr << "seam: warning: skipping stage '" << type << "': " << error.full_message()
                << std::endl;
    }
  }
  if (descriptions) descriptions->save();
}

LoadOptions file_options(const FileArguments& arguments) {
  LoadOptions options;
  options.file = arguments.file;
  options.variants = arguments.variants;
  options.overrides = arguments.set;
  options.plugin_paths = arguments.plugin_paths;
  options.environment = process_environment();
  return options;
}

LoadOptions options_of(const FileArguments& arguments) {
  if (!std::filesystem::is_directory(arguments.file)) return file_options(arguments);
  if (!arguments.set.empty() || !arguments.variants.empty()) {
    refuse("{} cannot be used with a run folder, because the parameters of a run are fixed",
           arguments.set.empty() ? "--variant" : "--set");
  }
  return earlier_run_options(arguments.file, arguments.plugin_paths);
}

}  // namespace seam::host
