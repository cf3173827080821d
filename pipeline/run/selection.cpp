#include "pipeline/run/selection.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "pipeline/config/initial_weights.hpp"
#include "pipeline/config/load.hpp"
#include "pipeline/run/checkpoint_metadata.hpp"
#include "pipeline/run/checksum.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/run_stages.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/text/lists.hpp"
#include "sdk/src/checkpoint_format.hpp"
#include "sdk/src/weights_metadata.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace format = checkpoint_format;
namespace {

/// In the order of the enumeration, the worst last.
constexpr std::array<std::pair<std::string_view, SelectedOn>, 5> words{
    {{"last", SelectedOn::last},
     {"train", SelectedOn::train},
     {"val", SelectedOn::val},
     {"unknown", SelectedOn::unknown},
     {"test", SelectedOn::test}}};

const StageSpec* spec_of(const CheckedPipeline& pipeline, const std::string& stage) {
  return find_in(pipeline.spec.stages, stage, &StageSpec::name);
}

/// Of a source or a sampler.
Json source_json(const StageSpec& stage, const Description& description) {
  std::map<std::string, std::string> parameters;
  std::map<std::string, std::string> folders;
  bool has_file = false;
  for (const ParameterInfo& parameter : description.parameters) {
    if (parameter.kind == ValueKind::reference) continue;
    if (parameter.role == ParameterRole::same_results) continue;
    const auto set = stage.values.find(parameter.name);
    if (set == stage.values.end() && !parameter.default_value) continue;
    const Value& value = set == stage.values.end() ? *parameter.default_value : set->second;
    const auto* const text = std::get_if<std::string>(&value);
    std::error_code error;
    if (const auto file = file_of(stage, parameter)) {
      parameters[parameter.name] = "sha256:" + sha256_of_file(*file);
      has_file = true;
    } else if (parameter.kind == ValueKind::path && text != nullptr) {
      folders[parameter.name] = fs::weakly_canonical(fs::absolute(*text, error), error).string();
    } else if (value != parameter.default_value) {  // so that later versions can add parameters
      parameters[parameter.name] = seam::to_text(value);
    }
  }
  // A list identifies the images; the folders differ between machines.
  if (!has_file) parameters.merge(folders);
  Json json{{"use", stage.use}};
  for (const auto& [name, value] : parameters) json[name] = value;
  return json;
}

/// The settings of a sampler, as a text that is equal for equal ones; empty for other stages.
std::string sampler_text(const CheckedPipeline& pipeline, const FlowNode& node) {
  const StageSpec* const spec = spec_of(pipeline, node.stage);
  if (spec == nullptr || !is_sampler(*pipeline.stages.at(node.stage))) return {};
  return "\n" + json_line(source_json(*spec, pipeline.stages.at(node.stage)->description()));
}

/// The last flow of an epoch that has the stage; its value is used.
const FlowSpec* measuring_flow(const CheckedPipeline& pipeline, const std::string& stage) {
  const FlowSpec* found = nullptr;
  for (const ScheduledFlow& scheduled : pipeline.spec.schedule.each_epoch) {
    const FlowSpec& flow = flow_named(pipeline.spec, scheduled.flow);
    if (contains(flow.nodes, stage, &FlowNode::stage)) found = &flow;
  }
  return found;
}

/// " k=50 exclude_self=true"
std::string settings_text(const StageSpec& stage) {
  std::string text;
  for (const auto& [name, value] : stage.values) text += " " + name + "=" + seam::to_text(value);
  return text;
}

/// Returns whether packets reach the stage in this flow. A source, such as a reference to the
/// training data, is not filled.
bool fills(const FlowSpec& flow, const std::string& stage) {
  return std::ranges::any_of(flow.nodes, [&](const FlowNode& node) {
    return node.stage == stage && !node.inputs.empty();
  });
}

/// The rule by which a checkpoint is the best of its run; nullopt if it is unknown.
std::optional<Choice> chooser_of(const std::map<std::string, std::string>& metadata) {
  if (const auto by = metadata.find(format::best_by_key); by != metadata.end()) {
    return choice_from(by->second);
  }
  return std::nullopt;
}

bool is_best(const WeightsFile& file) {
  const auto best = file.chooser.find(format::best_key);
  return best != file.chooser.end() && best->second == file.path.filename();
}

/// Adds the selections that the file records for the weights that the stage imports.
void add_choices(const std::string& stage, const std::string& weights,
                 std::vector<ChosenWeights>& chosen) {
  const WeightsFile file = weights_file(weights);
  if (!file.metadata.contains(format::version_key)) return;  // written by another program
  std::error_code error;
  if (is_best(file)) {
    add_unless_present(chosen, {stage, file.path.string(), chooser_of(file.chooser)});
  } else if (!fs::is_directory(weights, error)) {
    add_unless_present(chosen, {stage, file.path.string(), std::nullopt});
  }
  if (const auto before = file.metadata.find(format::chosen_key); before != file.metadata.end()) {
    for (ChosenWeights& one : chosen_weights_from(before->second))
      add_unless_present(chosen, std::move(one));
  }
}

Json choice_json(const Choice& choice) {
  return {{"metric", choice.metric},
          {"flow", choice.flow},
          {"trains", choice.purpose == Purpose::trains},
          {"protocol", choice.protocol},
          {"data", choice.data}};
}

Choice choice_of(const Json& json) {
  return {json.at("metric").get<std::string>(), json.at("flow").get<std::string>(),
          json.at("trains").get<bool>() ? Purpose::trains : Purpose::measures,
          json.at("protocol").get<std::string>(), json.at("data").get<std::string>()};
}

SelectedOn selected_on(const std::optional<Choice>& by, const std::string& data) {
  if (!by || by->flow.empty()) return SelectedOn::unknown;
  if (by->purpose == Purpose::trains) return SelectedOn::train;
  return by->data == data ? SelectedOn::test : SelectedOn::val;
}

}  // namespace

std::string selection_of(const WeightsFile& file) {
  if (!is_best(file)) return "last";
  const std::optional<Choice> by = chooser_of(file.chooser);
  if (!by) return "best";
  return "best by " + (by->flow.empty() ? by->metric : by->flow + ":" + by->metric);
}

std::string protocol_of(const CheckedPipeline& pipeline, const std::string& stage) {
  const StageSpec* const spec = spec_of(pipeline, stage);
  if (spec == nullptr) return {};
  const auto& parameters = pipeline.stages.at(stage)->description().parameters;
  const auto found = std::ranges::find(parameters, ParameterRole::protocol, &ParameterInfo::role);
  return found == parameters.end() ? std::string() : text_value(*spec, found->name);
}

std::string measured_data(const CheckedPipeline& pipeline, const FlowSpec& flow) {
  Json sources = Json::array();
  for (const FlowNode& node : flow.nodes) {
    const StageSpec* const stage = spec_of(pipeline, node.stage);
    if (!node.inputs.empty() || stage == nullptr) continue;
    sources.push_back(source_json(*stage, pipeline.stages.at(node.stage)->description()));
  }
  return json_line(sources);
}

std::string compared_data(const CheckedPipeline& pipeline, const FlowSpec& flow,
                          const std::string& stage) {
  const auto measuring = std::ranges::find(flow.nodes, stage, &FlowNode::stage);
  if (measuring == flow.nodes.end()) return {};
  const auto at = static_cast<std::size_t>(measuring - flow.nodes.begin());
  const StageSpec* const measures = spec_of(pipeline, stage);
  std::vector<std::size_t> nodes = upstream_of(flow, at);
  nodes.push_back(at);
  std::set<std::string> filled;
  std::string searches;
  std::string samplers;
  for (const std::size_t node : nodes) {
    samplers += sampler_text(pipeline, flow.nodes[node]);
    const StageSpec* const spec = spec_of(pipeline, flow.nodes[node].stage);
    if (spec == nullptr) continue;
    for (const auto& [parameter, target] : spec->references) {
      bool is_filled = false;
      for (const FlowSpec& other : pipeline.spec.flows) {
        if (&other == &flow || !fills(other, target)) continue;
        std::string served = measured_data(pipeline, other);
        for (const FlowNode& one : other.nodes) served += sampler_text(pipeline, one);
        filled.insert(std::move(served));
        is_filled = true;
      }
      if (is_filled) searches += "\n" + spec->use + settings_text(*spec);
    }
  }
  std::string data = measured_data(pipeline, flow) + samplers + searches;
  if (measures != nullptr) data += "\n" + settings_text(*measures);
  for (const std::string& one : filled) data += "\n" + one;
  return data;
}

std::optional<Choice> rule_of(const CheckedPipeline& pipeline) {
  const ScheduleSpec& schedule = pipeline.spec.schedule;
  Choice choice;
  choice.metric = schedule.keep.best;
  if (choice.metric.empty() && schedule.stop_early) choice.metric = schedule.stop_early->metric;
  if (choice.metric.empty()) return std::nullopt;
  const std::string stage = choice.metric.substr(0, choice.metric.find('.'));
  choice.protocol = protocol_of(pipeline, stage);
  if (const FlowSpec* const flow = measuring_flow(pipeline, stage)) {
    choice.flow = flow->name;
    choice.purpose = trains(pipeline, *flow) ? Purpose::trains : Purpose::measures;
    choice.data = measured_data(pipeline, *flow);
  }
  return choice;
}

std::vector<ChosenWeights> imported_choices(const CheckedPipeline& pipeline,
                                            std::span<const std::string> stages) {
  std::vector<ChosenWeights> chosen;
  for (const StageSpec& stage : pipeline.spec.stages) {
    if (!contains(stages, stage.name)) continue;
    const std::string weights =
        initial_weights(stage, pipeline.stages.at(stage.name)->description());
    if (weights.empty()) continue;
    try {
      add_choices(stage.name, weights, chosen);
    } catch (Error& error) {
      error.while_doing("reading the weights in '" + weights + "'");
      throw;
    }
  }
  return chosen;
}

std::vector<SelectedWeights> selected(const std::vector<ChosenWeights>& chosen,
                                      const std::string& data) {
  std::vector<SelectedWeights> weights;
  for (const ChosenWeights& one : chosen) {
    SelectedWeights selected{one.stage, one.file, {}, {}, selected_on(one.by, data)};
    if (one.by) {
      selected.metric = (one.by->flow.empty() ? "" : one.by->flow + ":") + one.by->metric;
      selected.protocol = one.by->protocol;
    }
    weights.push_back(std::move(selected));
  }
  return weights;
}

std::string_view word_of(SelectedOn selected_on) {
  return std::ranges::find(words, selected_on, &decltype(words)::value_type::second)->first;
}

SelectedOn selected_on_from(std::string_view word) {
  const auto* const found = std::ranges::find(words, word, &decltype(words)::value_type::first);
  return found == words.end() ? SelectedOn::unknown : found->second;
}

Json to_json(const std::vector<SelectedWeights>& weights) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return list_json(weights, [&](const SelectedWeights& one) -> Json {
    return {{"stage", one.stage},
            {"file", one.file},
            {"chosen_by", or_null(one.metric)},
            {"protocol", or_null(one.protocol)},
            {"selected_on", word_of(one.selected_on)}};
  });
}

std::vector<SelectedWeights> selected_weights_from(const Json& json) {
  std::vector<SelectedWeights> weights;
  const auto text = [](const Json& value) {
    return value.is_null() ? std::string() : value.get<std::string>();
  };
  for (const Json& one : json) {
    weights.push_back({one.at("stage").get<std::string>(), one.at("file").get<std::string>(),
                       text(one.at("chosen_by")), text(one.at("protocol")),
                       selected_on_from(one.at("selected_on").get<std::string>())});
  }
  return weights;
}

std::string text_of(const Choice& choice) {
  return escaped(json_line(choice_json(choice)));
}

std::string text_of(const std::vector<ChosenWeights>& chosen) {
  return escaped(json_line(list_json(chosen, [](const ChosenWeights& one) -> Json {
    return {
        {"stage", one.stage}, {"file", one.file}, {"by", one.by ? choice_json(*one.by) : Json()}};
  })));
}

Choice choice_from(const std::string& text) {
  try {
    return choice_of(parse_json(unescaped(text)));
  } catch (const Json::exception&) {
    throw Error(std::string("its '") + format::best_by_key + "' does not name a metric");
  }
}

std::vector<ChosenWeights> chosen_weights_from(const std::string& text) {
  try {
    std::vector<ChosenWeights> chosen;
    for (const Json& one : parse_json(unescaped(text))) {
      const Json& by = one.at("by");
      chosen.push_back({one.at("stage").get<std::string>(), one.at("file").get<std::string>(),
                        by.is_null() ? std::nullopt : std::optional(choice_of(by))});
    }
    return chosen;
  } catch (const Json::exception&) {
    throw Error(std::string("its '") + format::chosen_key +
                "' is not a list of stages, files and metrics");
  }
}

}  // namespace seam::host
