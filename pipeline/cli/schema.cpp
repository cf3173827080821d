#include <cmath>
#include <iostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/cli/stage_text.hpp"
#include "pipeline/config/host_tables.hpp"
#include "pipeline/config/parameter_value.hpp"
#include "pipeline/config/sweep.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/thread_budget.hpp"

namespace seam::host {
namespace {

Json typed(const char* type, const std::string& doc) {
  return {{"type", type}, {"description", doc}};
}

/// A table that takes only these keys.
Json table(const std::string& doc, Json properties) {
  Json object = typed("object", doc);
  object["properties"] = std::move(properties);
  object["additionalProperties"] = false;
  return object;
}

/// One of `element`, or a list of them.
Json one_or_list(const Json& element) {
  return {{"anyOf", Json::array({element, {{"type", "array"}, {"items", element}}})}};
}

Json texts(const std::string& doc) {
  Json object = one_or_list({{"type", "string"}});
  object["description"] = doc;
  return object;
}

/// The rules for one element: its JSON type, its bounds, its choices.
Json element(const ParameterInfo& parameter) {
  Json object;
  switch (parameter.kind) {
    case ValueKind::boolean:
      object["type"] = "boolean";
      break;
    case ValueKind::integer:
    case ValueKind::integers:
      object["type"] = "integer";
      break;
    case ValueKind::number:
    case ValueKind::numbers:
      object["type"] = "number";
      break;
    default:
      object["type"] = "string";
  }
  const auto bound = [&](const char* key, const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return;
    const bool whole = std::nearbyint(*value) == *value && std::abs(*value) < 1e15;
    object[key] = whole ? Json(static_cast<std::int64_t>(*value)) : Json(*value);
  };
  bound("minimum", parameter.least);
  bound("maximum", parameter.most);
  if (!parameter.choices.empty()) object["enum"] = parameter.choices;
  return object;
}

std::string documentation(const ParameterInfo& parameter) {
  std::string text = documentation_of(parameter);
  if (!parameter.unit.empty()) text += " (" + parameter.unit + ")";
  if (parameter.required) text += "; required";
  if (parameter.kind == ValueKind::reference) {
    text += "; the name of a stage that offers " + parameter.interface;
  }
  return text;
}

Json parameter_schema(const ParameterInfo& parameter, const std::string& doc) {
  Json object = element(parameter);
  if (is_list(parameter.kind)) object = one_or_list(object);
  object["description"] = doc;
  if (parameter.default_value) object["default"] = value_json(*parameter.default_value);
  return object;
}

Json host_schema(const HostTable& host);

/// The schemas of the host's compound keys.
struct CompoundSchema {
  Json operator()(const CountOrShare& /*form*/) const {
    return {{"type", "number"}, {"minimum", 0}};
  }
  Json operator()(const ErrorPolicy& /*form*/) const {
    int retries = 0;
    return {{"anyOf", Json::array({{{"enum", Json::array({"fail", "skip"})}},
                                   host_schema(retry_table(retries))})}};
  }
  Json operator()(const FlowTurns& /*form*/) const {
    ScheduledFlow turn;
    return one_or_list(
        {{"anyOf", Json::array({{{"type", "string"}}, host_schema(turn_table(turn))})}});
  }
  template <class Member>
  Json operator()(const ShortOrTable<Member>& form) const {
    typename ShortOrTable<Member>::Rule rule;
    Json brief = {{"const", false}};
    if (form.brief == Short::flag) brief = {{"type", "boolean"}};
    if (form.brief == Short::count) brief = {{"type", "integer"}, {"minimum", 1}};
    return {{"anyOf", Json::array({std::move(brief), host_schema(form.table(rule))})}};
  }
};

Json key_schema(const HostTable& host, const ParameterInfo& key) {
  if (const CompoundForm* form = host.compound(key.name)) {
    Json object = std::visit(CompoundSchema{}, *form);
    object["description"] = key.doc;
    return object;
  }
  Json object = parameter_schema(key, key.doc);
  if (key.unit == bytes_unit) object["type"] = Json::array({"integer", "string"});
  if (key.required || host.default_text(key.name) != nullptr) object.erase("default");
  return object;
}

Json host_schema(const HostTable& host) {
  Json properties = Json::object();
  for (const ParameterInfo& key : host.keys()) properties[key.name] = key_schema(host, key);
  return table(host.doc(), std::move(properties));
}

/// Adds the keys that every stage of this kind has besides its own parameters.
void add_common(Json& properties, const StageRunner& stage) {
  StageSpec any;
  const HostTable host = stage_table(any);
  for (const ParameterInfo& key : host.keys()) properties[key.name] = key_schema(host, key);
  properties["use"] = {{"const", stage.type()}, {"description", stage.description().doc}};
  Json& forms = properties["on_error"]["anyOf"];  // words, and { retry = n }
  const bool source = stage.kind() == StageKind::source;
  if (source) forms[0]["enum"] = Json::array({"fail"});
  if (source || stage.kind() == StageKind::collector) forms.erase(1);
  if (stage.kind() != StageKind::parallel_transform) properties.erase("concurrency");
}

Json stage_schema(const StageRunner& stage) {
  Json properties = Json::object();
  add_common(properties, stage);
  for (const ParameterInfo& parameter : stage.description().parameters) {
    properties[parameter.name] = parameter_schema(parameter, documentation(parameter));
    for (const std::string& old : parameter.renamed_from) {
      properties[old] = parameter_schema(parameter, "Renamed to '" + parameter.name + "'.");
    }
  }
  return {{"title", stage.type()},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", Json::array({"use"})},
          {"additionalProperties", false}};
}

Json stages_schema(Registry& registry) {
  Json any = Json::array();
  for_each_stage(registry, [&](const StageRunner& stage) { any.push_back(stage_schema(stage)); });
  // A stage with `like`, and changes to a stage of an extended file, do not need `use`.
  StageSpec stage;
  Json properties = host_schema(stage_table(stage))["properties"];
  properties["use"] = false;
  any.push_back({{"title", "a stage that uses `like`, or overrides a stage of an extended file"},
                 {"type", "object"},
                 {"properties", std::move(properties)}});
  Json object = typed("object", "The stages, each under a name of your choice.");
  object["additionalProperties"] = {{"anyOf", std::move(any)}};
  return object;
}

}  // namespace

std::string schema_text(const std::vector<std::string>& plugin_paths) {
  const int threads = count_cores().usable();
  obey_thread_budget(threads);
  Registry registry(default_search_path({}, plugin_paths), threads);
  Json flows = typed("object", "The flows: which stages packets pass through.");
  flows["additionalProperties"] = typed("string", "a -> b -> c; a -> {b, c} -> d branches");
  Json paths = typed("object", "Names for parts of flows.");
  paths["additionalProperties"] =
      typed("string",
            "a -> b -> c; using the name in a flow or another path inserts all of these stages");
  PipelineSpec fresh;
  SweepSpec sweep;
  Json properties{{"pipeline", host_schema(pipeline_table(fresh))},
                  {"limits", host_schema(limits_table(fresh.limits))},
                  {"stage", stages_schema(registry)},
                  {"path", std::move(paths)},
                  {"flow", std::move(flows)},
                  {"schedule", host_schema(schedule_table(fresh.schedule))}};
  Json changes = Json::object();  // of a variant: references, to avoid copies of all stages
  for (const auto& [key, schema] : properties.items()) {
    changes[key] = {{"$ref", "#/properties/" + key}};
  }
  Json variant = typed("object", "Variants: sets of changes that --variant NAME applies.");
  variant["additionalProperties"] = table("The changes.", std::move(changes));
  Json groups =
      typed("object", "Groups of variants: at most one variant per group can be applied.");
  groups["additionalProperties"] = texts("names of variants");
  properties["extends"] = texts("files that this file extends; paths are relative to this file");
  properties["variant"] = std::move(variant);
  properties["variants"] = std::move(groups);
  properties["sweep"] = host_schema(sweep_table(sweep));
  properties["chosen"] = host_schema(chosen_table(fresh.chosen));
  return json_line({{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"title", "A pipeline file of Seam"},
                    {"type", "object"},
                    {"properties", std::move(properties)},
                    {"additionalProperties", false}}) +
         "\n";
}

ExitCode schema_verb(const SchemaArguments& arguments) {
  std::cout << schema_text(arguments.plugin_paths) << std::flush;
  return ExitCode::success;
}

}  // namespace seam::host
