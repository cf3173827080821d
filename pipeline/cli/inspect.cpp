#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/cli/stage_text.hpp"
#include "pipeline/config/load.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/counted_categories.hpp"
#include "pipeline/run/network_of.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/run/thread_budget.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace {

bool tells_of_network(const StageRunner& stage) {
  return contains(stage.description().offers, type_name<DescribesNetwork>(),
                  &OfferedInterface::interface);
}

/// The parameters without which the stage cannot be opened alone: only a flow shows the size of a
/// field that arrives.
std::vector<std::string> lacking(const StageRunner& stage) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : stage.description().parameters) {
    if (!parameter.required && !parameter.from_field) continue;
    if (!without_effect(parameter, stage.description(), {})) names.push_back(parameter.name);
  }
  return names;
}

/// Describes one stage of a pipeline whose stages are configured.
ExitCode inspect_configured(const InspectArguments& arguments, CheckedPipeline& pipeline,
                            const std::string& name, int threads) {
  const auto& stages = pipeline.spec.stages;
  const StageSpec* spec = find_in(stages, name, &StageSpec::name);
  if (spec == nullptr) {
    const std::vector<std::string> names = mapped(stages, &StageSpec::name);
    refuse("'{}' has no stage '{}'{}\n  its stages: {}", arguments.file, name,
           suggestion(name, names), enumerated(names));
  }
  Inspected inspected{*pipeline.stages.at(name), {}, spec};
  for (const PluginFile& file : pipeline.plugins) {
    if (contains(file.manifest.stages, spec->use)) inspected.plugin = file.path.string();
  }
  if (arguments.json) {
    print_json(inspected, network_of(pipeline, name, threads));
    return ExitCode::success;
  }
  print_text(inspected);
  if (const auto network = network_of(pipeline, name, threads)) print_network(*network);
  return ExitCode::success;
}

bool has_network(const PreparedRun& prepared, const std::string& stage) {
  if (!prepared.loaded.pipeline) return false;
  const auto& stages = prepared.loaded.pipeline->stages;
  const auto found = stages.find(stage);
  return found != stages.end() && tells_of_network(*found->second);
}

ExitCode inspect_in_file(const InspectArguments& arguments) {
  if (arguments.markdown) {
    refuse("--markdown describes a stage type, not a stage of a file; omit '{}' and name the type",
           arguments.file);
  }
  LoadOptions options = options_of(arguments);
  options.environment = process_environment();
  // Without a description cache, because the stages will be opened.
  PreparedRun prepared = prepare_run(options, std::nullopt);
  if (has_network(prepared, arguments.stage)) {  // which may have a class for each category
    options.count_categories = category_count(nullptr, nullptr);
    prepared = prepare_run(std::move(options), std::nullopt);
  }
  report_problems(prepared.loaded.problems);
  if (!prepared.loaded.pipeline) return ExitCode::configuration;
  return inspect_configured(arguments, *prepared.loaded.pipeline, arguments.stage,
                            prepared.threads);
}

/// Returns the network with the stage's defaults; nullopt if it has no network, or if there are
/// `needed` parameters.
std::optional<NetworkPart> network_by_default(const StageRunner& stage,
                                              const std::vector<std::string>& needed,
                                              Registry& registry, int threads) {
  if (!tells_of_network(stage) || !needed.empty()) return std::nullopt;
  LoadResult loaded = load_stage(stage.type(), {}, process_environment(), registry);
  report_problems(loaded.problems);
  if (!loaded.pipeline) refuse("{} cannot be created with its defaults", stage.type());
  return network_of(*loaded.pipeline, loaded.pipeline->spec.stages.front().name, threads);
}

/// Describes the field of this name, as all stages declare it. Throws seam::Error if there is none.
ExitCode inspect_field(const InspectArguments& arguments, Registry& registry) {
  std::set<std::string> fields;
  InspectedField field{arguments.stage, {}, {}, {}};
  for_each_stage(registry, [&](const StageRunner& stage) {
    const auto collect = [&](const std::vector<FieldInfo>& of_stage,
                             std::vector<InspectedField::Use>& uses) {
      for (const FieldInfo& one : of_stage) {
        fields.insert(one.name);
        if (one.name == field.name) uses.push_back({stage.type(), one});
      }
    };
    collect(stage.description().provides, field.provided);
    collect(stage.description().needs, field.needed);
    collect(stage.description().accepts, field.accepted);
  });
  if (!fields.contains(field.name)) {
    try {
      (void)registry.make(arguments.stage, arguments.stage);  // throws: no such stage type
    } catch (const Error& error) {
      refuse("{}\n  and no stage has a field with this name{}", error.full_message(),
             suggestion(field.name, {fields.begin(), fields.end()}));
    }
  }
  if (!arguments.set.empty() || arguments.markdown) {
    refuse("'{}' is a field; --set and --markdown apply only to stages", field.name);
  }
  if (arguments.json) {
    print_json(field);
  } else {
    print_text(field);
  }
  return ExitCode::success;
}

/// Describes a stage type. Its description may be cached, but its network requires loading the
/// plugin.
ExitCode inspect_type(const InspectArguments& arguments) {
  if (!arguments.variants.empty()) {
    refuse("--variant needs a pipeline file: seam inspect FILE {} --variant {}", arguments.stage,
           arguments.variants.front());
  }
  if (!is_stage_name(arguments.stage) && std::filesystem::exists(arguments.stage)) {
    refuse(
        "'{}' is a file or folder, not a stage type; also name a stage in it: `seam inspect FILE "
        "STAGE`",
        arguments.stage);
  }
  const int threads = count_cores().usable();
  obey_thread_budget(threads);
  Registry registry(default_search_path({}, arguments.plugin_paths), threads);
  if (registry.find_all(arguments.stage).empty()) return inspect_field(arguments, registry);
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  const std::unique_ptr<StageRunner> stage =
      registry.describe(arguments.stage, arguments.stage, descriptions.get());
  if (descriptions) descriptions->save();
  if (!arguments.set.empty()) {
    LoadResult loaded = load_stage(arguments.stage, arguments.set, process_environment(), registry);
    report_problems(loaded.problems);
    if (!loaded.pipeline) return ExitCode::configuration;
    return inspect_configured(arguments, *loaded.pipeline,
                              loaded.pipeline->spec.stages.front().name, threads);
  }
  if (arguments.markdown) {
    print_markdown(*stage);
    return ExitCode::success;
  }
  const Inspected inspected{*stage, registry.find(arguments.stage)->path.string()};
  const std::vector<std::string> needed = lacking(*stage);
  if (arguments.json) {
    print_json(inspected, network_by_default(*stage, needed, registry, threads));
    return ExitCode::success;
  }
  print_text(inspected);
  if (const auto network = network_by_default(*stage, needed, registry, threads)) {
    print_network(*network);
  } else if (tells_of_network(*stage)) {
    std::cout << "\nnetwork: not shown, because the stage requires " << enumerated(needed)
              << "; pass a pipeline file before the stage, or set the parameters with --set"
              << std::endl;
  }
  return ExitCode::success;
}

}  // namespace

ExitCode inspect_verb(const InspectArguments& arguments) {
  return arguments.file.empty() ? inspect_type(arguments) : inspect_in_file(arguments);
}

}  // namespace seam::host
