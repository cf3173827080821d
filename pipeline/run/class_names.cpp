#include "pipeline/run/class_names.hpp"

#include <algorithm>
#include <utility>

#include "pipeline/config/initial_weights.hpp"
#include "pipeline/config/load.hpp"
#include "pipeline/config/untrained.hpp"
#include "pipeline/run/checkpoint_metadata.hpp"
#include "pipeline/run/run_stages.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/refuse.hpp"
#include "sdk/src/checkpoint_format.hpp"
#include "sdk/src/weights_metadata.hpp"
#include "seam/category_names.hpp"
#include "seam/error.hpp"
#include "seam/field.hpp"
#include "seam/network.hpp"

namespace seam::host {
namespace {

using Names = std::vector<std::string>;

bool tells_classes_apart(const Description& stage) {
  const bool asks =
      contains(stage.upstream, type_name<CategoryNames>(), &UpstreamReference::interface);
  return asks && stage.keeps_state &&
         std::ranges::any_of(stage.provides, [](const FieldInfo& field) {
           return contains(class_scores, field.name);
         });
}

/// Returns whether a stage of the flow reads category numbers.
bool reads_categories(const CheckedPipeline& pipeline, const FlowSpec& flow) {
  return std::ranges::any_of(flow.nodes, [&](const FlowNode& node) {
    const Description& stage = pipeline.stages.at(node.stage)->description();
    return contains(stage.needs, field::categories.name, &FieldInfo::name) ||
           contains(stage.labels_read, field::categories.name);
  });
}

/// The category names of the data sets before the stage; empty if it is not in the flow.
std::vector<const Names*> names_before(const CheckedPipeline& pipeline, const FlowSpec& flow,
                                       const std::string& stage) {
  std::vector<const Names*> names;
  const auto node = std::ranges::find(flow.nodes, stage, &FlowNode::stage);
  if (node == flow.nodes.end()) return names;
  for (const std::size_t at :
       upstream_of(flow, static_cast<std::size_t>(node - flow.nodes.begin()))) {
    const StageRunner& before = *pipeline.stages.at(flow.nodes[at].stage);
    const auto* const data =
        static_cast<CategoryNames*>(before.interface(type_name<CategoryNames>()));
    if (data != nullptr && !data->category_names().empty()) {
      names.push_back(&data->category_names());
    }
  }
  return names;
}

/// The first class that both lists have, but with different names.
std::optional<std::size_t> first_difference(const Names& one, const Names& other) {
  for (std::size_t at = 0; at < std::min(one.size(), other.size()); ++at) {
    if (one[at] != other[at]) return at;
  }
  return std::nullopt;
}

bool has_values(const StageSpec& stage, const std::string& parameter) {
  const auto found = stage.values.find(parameter);
  if (found == stage.values.end()) return false;
  const auto* const several = std::get_if<Names>(&found->second);
  return several == nullptr || !several->empty();
}

}  // namespace

ClassNames trained_classes(const CheckedPipeline& pipeline) {
  ClassNames classes;
  for (const auto& [name, runner] : pipeline.stages) {
    if (!tells_classes_apart(runner->description())) continue;
    Names longest;
    bool agree = true;
    for (const std::string& scheduled : scheduled_flows(pipeline.spec.schedule)) {
      const FlowSpec& flow = flow_named(pipeline.spec, scheduled);
      if (!trains(pipeline, flow)) continue;
      for (const Names* names : names_before(pipeline, flow, name)) {
        agree = agree && !first_difference(longest, *names);
        if (names->size() > longest.size()) longest = *names;
      }
    }
    if (agree && !longest.empty()) classes.emplace(name, std::move(longest));
  }
  return classes;
}

std::string text_of(const ClassNames& classes) {
  Json json = Json::object();
  for (const auto& [stage, names] : classes) json[stage] = list_json(names, escaped);
  return json_line(json);
}

ClassNames class_names_from(const std::string& text) {
  const Json json = try_parse_json(text);
  const auto is_list = [](const Json& list) {
    return list.is_array() &&
           std::ranges::all_of(list, [](const Json& name) { return name.is_string(); });
  };
  if (!json.is_object() || !std::ranges::all_of(json, is_list)) {
    throw Error(std::string("its '") + checkpoint_format::classes_key +
                "' is not a list of names for each stage");
  }
  ClassNames classes;
  for (const auto& [stage, names] : json.items()) {
    for (const Json& name : names) classes[stage].push_back(unescaped(name.get<std::string>()));
  }
  return classes;
}

std::optional<std::string> contradiction(const CheckedPipeline& pipeline, const std::string& stage,
                                         const std::vector<std::string>& names) {
  for (const std::string& scheduled : scheduled_flows(pipeline.spec.schedule)) {
    const FlowSpec& flow = flow_named(pipeline.spec, scheduled);
    if (!trains(pipeline, flow) && !reads_categories(pipeline, flow)) continue;
    for (const Names* data : names_before(pipeline, flow, stage)) {
      const auto at = first_difference(names, *data);
      if (!at) continue;
      return "class " + std::to_string(*at) + " is '" + names[*at] + "' there (" +
             std::to_string(names.size()) + " classes) and '" + (*data)[*at] +
             "' in the data of flow '" + flow.name + "' (" + std::to_string(data->size()) +
             " classes)";
    }
  }
  return std::nullopt;
}

void refuse_other_classes(const CheckedPipeline& pipeline, const ClassNames& trained) {
  for (const auto& [stage, names] : trained_classes(pipeline)) {
    const auto before = trained.find(stage);
    if (before == trained.end()) continue;
    const auto at = first_difference(before->second, names);
    if (!at) continue;
    refuse(
        "the categories of the data have changed: class {} of stage '{}' was '{}' and is now '{}', "
        "so the network would mix them up. Restore the data, or start another run with weights = "
        "\"RUN\", whose 'skip' excludes the class-dependent weights",
        *at, stage, before->second[*at], names[*at]);
  }
}

std::vector<std::string> check_imported_classes(const CheckedPipeline& pipeline) {
  std::vector<std::string> warnings;
  for (const StageSpec& stage : pipeline.spec.stages) {
    const auto runner = pipeline.stages.find(stage.name);
    if (runner == pipeline.stages.end()) continue;
    const std::string file = initial_weights(stage, runner->second->description());
    if (file.empty() || !tells_classes_apart(runner->second->description())) continue;
    const WeightsFile weights = weights_file(file);
    const auto text = weights.metadata.find(checkpoint_format::classes_key);
    // Another program, or an earlier version, wrote no names.
    if (text == weights.metadata.end()) continue;
    ClassNames classes;
    try {
      classes = class_names_from(text->second);
    } catch (Error& error) {
      error.while_doing("reading the weights in '" + file + "'");
      throw;
    }
    const auto known = classes.find(stage.name);
    if (known == classes.end()) continue;
    const auto difference = contradiction(pipeline, stage.name, known->second);
    if (!difference) continue;
    const std::string what = "the weights for stage '" + stage.name + "' in '" + file +
                             "' were trained on different classes: " + *difference;
    if (!has_values(stage, std::string(skip_parameter))) {
      refuse(
          "{}. Use data with the same categories, or exclude the class-dependent weights with "
          "'skip' (`seam inspect` lists the names)",
          what);
    }
    warnings.push_back(what + ". Make sure that 'skip' excludes all class-dependent weights");
  }
  return warnings;
}

}  // namespace seam::host
