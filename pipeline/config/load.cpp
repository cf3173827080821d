#include "pipeline/config/load.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "pipeline/config/category_outputs.hpp"
#include "pipeline/config/fields.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/flows.hpp"
#include "pipeline/config/folders.hpp"
#include "pipeline/config/kept_metric.hpp"
#include "pipeline/config/like.hpp"
#include "pipeline/config/merge.hpp"
#include "pipeline/config/paths.hpp"
#include "pipeline/config/replicates.hpp"
#include "pipeline/config/resolved.hpp"
#include "pipeline/config/settings.hpp"
#include "pipeline/config/stages.hpp"
#include "pipeline/config/sweep.hpp"
#include "pipeline/config/variants.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/network.hpp"

namespace seam::host {
namespace {

int cores() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::vector<SearchEntry> search_path(const LoadOptions& options, const PipelineSpec& spec) {
  std::vector<SearchEntry> usual;
  if (options.search_path) {
    usual = named_search_path(spec.plugin_paths, options.plugin_paths);
    usual.insert(usual.end(), options.search_path->begin(), options.search_path->end());
  } else {
    usual = default_search_path(spec.plugin_paths, options.plugin_paths);
  }
  return options.recorded_plugins.empty()
             ? usual
             : resumed_search_path(options.recorded_plugins, std::move(usual));
}

/// An explicitly given path must contain plugins, whether or not this pipeline needs them.
void check_plugin_paths(const Table& tree, const LoadOptions& options, const Registry& registry,
                        Findings& findings) {
  const auto check = [&](const std::string& written, const std::string& path, const Place& place) {
    const auto absolute = std::filesystem::absolute(path).lexically_normal();
    for (const PluginFile& file : registry.files()) {
      if (file.path != absolute || file.refusal.empty()) continue;
      findings.error("plugin-path", place,
                     "'" + written + "' does not contain a plugin: " + file.refusal);
    }
  };
  for (const Node* node : plugin_nodes(tree)) check(*node->text(), plugin_path(*node), node->place);
  for (const std::string& path : options.plugin_paths) {
    check(path, path, {"--plugin-path", 0, 0, 1});
  }
}

/// Moves the valid stages and the plugins that they come from into the pipeline.
void take_drafts(std::vector<StageDraft>& stages, const Registry& registry,
                 CheckedPipeline& pipeline) {
  for (StageDraft& stage : stages) {
    pipeline.stages.emplace(stage.spec.name, std::move(stage.runner));
  }
  pipeline.devices = registry.devices();
  for (const PluginFile* file : registry.loaded()) pipeline.plugins.push_back(*file);
}

/// Warns once about each prediction that is evaluated but not trained, at the first stage that
/// reads it.
void check_trained(CheckedPipeline& pipeline, Findings& findings) {
  pipeline.untrained = untrained_fields(pipeline);
  std::set<std::string> models;
  for (const UntrainedField& untrained : pipeline.untrained) {
    if (!models.insert(untrained.model).second) continue;
    const FlowSpec* flow = find_in(pipeline.spec.flows, untrained.flow, &FlowSpec::name);
    const FlowNode* node = find_in(flow->nodes, untrained.stage, &FlowNode::stage);
    findings.warning("untrained-field", node->place, to_text(untrained),
                     {"its results are guesses: add a loss on '" + untrained.scores +
                      "', or evaluate without '" + untrained.field + "'"});
  }
}

/// Warns if `lanes` has no effect: no network takes part in the training flows that run.
void check_lanes(const Table& tree, const CheckedPipeline& pipeline, Findings& findings) {
  if (pipeline.spec.lanes.count == 1 || !trains(pipeline)) return;
  const auto has_network = [&](const FlowSpec* flow) {
    return trains(pipeline, *flow) && std::ranges::any_of(flow->nodes, [&](const FlowNode& node) {
             // seam::ModuleStage, which computes in lanes, offers it.
             return pipeline.stages.at(node.stage)->interface(type_name<DescribesNetwork>()) !=
                    nullptr;
           });
  };
  if (std::ranges::any_of(flows_that_run(pipeline.spec), has_network)) return;
  findings.warning("no-effect", tree.find("pipeline")->node.table()->find("lanes")->node.place,
                   "'lanes' of [pipeline] has no effect, because no training flow has a network "
                   "that computes in lanes");
}

std::optional<CheckedPipeline> checked(const LoadOptions& options, Sources& sources,
                                       Findings& findings) {
  std::optional<Table> tree = read_with_bases(options.file, options.environment, sources, findings);
  if (!tree) return std::nullopt;
  Variants variants(*tree, findings);
  variants.lay_over(*tree, options.variants, options.environment, sources, findings);
  const std::vector<std::string> set =
      apply_overrides(*tree, options.overrides, options.environment, sources, findings);
  expand_tree(*tree, options.environment, sources, findings);
  check_top_level(*tree, findings);
  resolve_likes(*tree, findings);

  CheckedPipeline pipeline;
  PipelineSpec& spec = pipeline.spec;
  spec.file = options.file.string();
  read_settings(*tree, spec, findings);
  if (options.event_file == EventFileUse::always && !spec.tensorboard) spec.tensorboard.emplace();
  spec.chosen = variants.chosen(*tree, set, findings);
  // A run ignores [sweep], but its errors are reported.
  read_sweep(*tree, variants.names(), findings);

  const int threads = options.decide_threads ? options.decide_threads(spec.threads)
                                             : spec.threads.value_or(cores());
  Registry registry(search_path(options, spec), threads);
  check_plugin_paths(*tree, options, registry, findings);
  std::vector<StageDraft> stages = read_stages(*tree, registry, options.descriptions, findings);
  check_references(stages, findings);

  const Entry* stage_tables = tree->find("stage");
  if (stage_tables != nullptr && stage_tables->node.table() == nullptr) return std::nullopt;

  KnownNames known;
  known.stages = names_of(stages);
  const std::size_t errors_before = findings.errors();
  const Paths paths(*tree, stages, sources, findings);
  spec.paths = paths.specs();
  spec.flows = read_flows(*tree, spec.file, stages, paths, sources, known.flows, findings);
  const PipelineOf of =
      options.recorded_plugins.empty() ? PipelineOf::user : PipelineOf::recorded_run;
  // For a resumed run, this was reported when it started.
  const std::string own = of == PipelineOf::user ? spec.file : std::string();
  if (findings.errors() == errors_before && !own.empty()) {
    // With a variant, stages and paths of the file may be unused, as in an extended file.
    const std::string own_stages = options.variants.empty() ? own : std::string();
    check_use(*tree, own_stages, stages, spec.flows, findings);
    check_path_use(*tree, own_stages, spec.flows, findings);
  }
  spec.schedule = read_schedule(*tree, own, known, findings);
  const auto set_values = [&](StageDraft& stage, const Values& values) {
    configure_again(stage, values, registry, options.descriptions, findings);
  };
  // Missing data is reported as such, and not by the data set that cannot be opened.
  const auto missing_data = [&] { return check_folders(spec, stages, of, findings); };
  if (options.count_categories && !findings.has_errors() && missing_data().empty()) {
    const auto make = [&](const StageDraft& data) {
      if (!data.spec.references.empty()) {
        refuse(
            "stage '{}' refers to other stages, so it cannot be opened to count its categories; "
            "set `classes` of the networks after it",
            data.spec.name);
      }
      std::unique_ptr<StageRunner> runner = registry.make(data.spec.use, data.spec.name);
      runner->configure(data.spec.values);
      return runner;
    };
    set_classes(spec, stages, make, options.count_categories, set_values);
  }
  const auto set_size = [&](StageDraft& stage, const Values& values) {
    for (const auto& [parameter, size] : values) stage.spec.from_fields.insert(parameter);
    set_values(stage, values);
  };
  set_sizes(spec.flows, stages, set_size, findings);
  for (const FlowSpec& flow : spec.flows) check_fields(flow, stages, findings);
  check_tensorboard(*tree, known, findings);
  settle_kept_metric(*tree, stages, spec.flows, of, spec.schedule, findings);
  if (!findings.has_errors() && of == PipelineOf::user) check_replicates(spec, stages, findings);
  if (findings.has_errors()) return std::nullopt;

  bind_references(stages);
  spec.roles = roles_of(stages);
  spec.resolved = resolved_text(spec, stages);
  spec.stages = mapped(stages, &StageDraft::spec);
  pipeline.missing_data = missing_data();
  take_drafts(stages, registry, pipeline);
  check_trained(pipeline, findings);
  check_lanes(*tree, pipeline, findings);
  const auto flow_trains = [&](const std::string& name) {
    return trains(pipeline, *std::ranges::find(spec.flows, name, &FlowSpec::name));
  };
  check_repeats(*tree, spec.schedule, flow_trains, findings);
  return pipeline;
}

/// { stage = { NAME = { use = "FAMILY.NAME" } } }
Table tree_of(const std::string& name, const std::string& use, const Place& place) {
  const auto table_of = [&](const std::string& key, auto value) {
    Entry entry;
    entry.key = key;
    entry.key_place = place;
    entry.node.value = std::move(value);
    entry.node.place = place;
    return Table{{std::move(entry)}};
  };
  return table_of("stage", table_of(name, table_of("use", use)));
}

}  // namespace

bool trains(const CheckedPipeline& pipeline, const FlowSpec& flow) {
  return std::ranges::any_of(flow.nodes, [&](const FlowNode& node) {
    return pipeline.stages.at(node.stage)->description().trains;
  });
}

bool trains(const CheckedPipeline& pipeline) {
  return std::ranges::any_of(flows_that_run(pipeline.spec),
                             [&](const FlowSpec* flow) { return trains(pipeline, *flow); });
}

LoadResult load_pipeline(const LoadOptions& options) {
  Sources sources;
  Findings findings(sources);
  LoadResult result;
  result.pipeline = checked(options, sources, findings);
  result.problems = findings.in_order();
  if (options.descriptions != nullptr) options.descriptions->save();
  return result;
}

LoadResult load_stage(const std::string& use, const std::vector<std::string>& set,
                      const std::map<std::string, std::string>& environment, Registry& registry) {
  Sources sources;
  Findings findings(sources);
  const std::string name = use.substr(use.find('.') + 1);
  Table tree = tree_of(name, use, {use, 0, 0, 1});
  std::vector<std::string> overrides;
  for (const std::string& each : set) overrides.push_back("stage." + name + "." + each);
  (void)apply_overrides(tree, overrides, environment, sources, findings);
  expand_tree(tree, environment, sources, findings);
  resolve_likes(tree, findings);
  std::vector<StageDraft> stages = read_stages(tree, registry, nullptr, findings);
  check_references(stages, findings);
  LoadResult result;
  if (!findings.has_errors()) {
    CheckedPipeline& pipeline = result.pipeline.emplace();
    pipeline.spec.stages = mapped(stages, &StageDraft::spec);
    take_drafts(stages, registry, pipeline);
  }
  result.problems = findings.in_order();
  return result;
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace seam::host
