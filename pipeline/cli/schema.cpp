#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/cli/values_json.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/config/stages.hpp"
#include "pipeline/plugins/description_cache.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/json.hpp"
#include "pipeline/run/thread_budget.hpp"

namespace seam::host {
namespace {

JsonObject typed(const char* type, const std::string& doc) {
  return JsonObject().add("type", type).add("description", doc);
}

JsonObject integer(const std::string& doc, std::int64_t least) {
  return typed("integer", doc).add("minimum", least);
}

/// A text, or a list of texts.
std::string texts(const std::string& doc) {
  return JsonObject()
      .add("type", std::vector<std::string>{"string", "array"})
      .add_raw("items", typed("string", doc).text())
      .add("description", doc)
      .text();
}

/// A table that takes these keys alone.
std::string table(const std::string& doc, const std::string& properties) {
  return typed("object", doc)
      .add_raw("properties", properties)
      .add("additionalProperties", false)
      .text();
}

/// The rules for one element: its JSON type, its bounds, its choices.
JsonObject element(const ParameterInfo& parameter) {
  JsonObject object;
  switch (parameter.kind) {
    case ValueKind::boolean:
      object.add("type", "boolean");
      break;
    case ValueKind::integer:
    case ValueKind::integers:
      object.add("type", "integer");
      break;
    case ValueKind::number:
    case ValueKind::numbers:
      object.add("type", "number");
      break;
    default:
      object.add("type", "string");
  }
  if (parameter.least && std::isfinite(*parameter.least)) object.add("minimum", *parameter.least);
  if (parameter.most && std::isfinite(*parameter.most)) object.add("maximum", *parameter.most);
  if (!parameter.choices.empty()) object.add("enum", parameter.choices);
  return object;
}

std::string documentation(const ParameterInfo& parameter) {
  std::string text = parameter.doc;
  if (!parameter.unit.empty()) text += " (" + parameter.unit + ")";
  if (parameter.required) text += "; required";
  if (parameter.kind == ValueKind::reference) {
    text += "; the name of a stage that offers " + parameter.interface;
  }
  return text;
}

std::string parameter_schema(const ParameterInfo& parameter, const std::string& doc) {
  JsonObject object;
  if (is_list(parameter.kind)) {
    const std::string one = element(parameter).text();
    object.add_raw("anyOf",
                   JsonArray()
                       .add_raw(one)  // a single value is a fine list of one
                       .add_raw(JsonObject().add("type", "array").add_raw("items", one).text())
                       .text());
  } else {
    object = element(parameter);
  }
  object.add("description", doc);
  if (parameter.default_value) {
    object.add_raw("default", value_json(*parameter.default_value));
  }
  return object.text();
}

/// What any stage takes besides its own parameters.
void add_common(JsonObject& properties, StageKind kind) {
  std::vector<std::string> words{"fail"};
  if (kind != StageKind::source) words.emplace_back("skip");
  JsonArray forms;
  forms.add_raw(JsonObject().add("enum", words).text());
  if (kind != StageKind::source && kind != StageKind::collector) {
    forms.add_raw(table(
        "",
        JsonObject().add_raw("retry", integer("how often it is tried again", 1).text()).text()));
  }
  properties.add_raw(
      "on_error", JsonObject()
                      .add_raw("anyOf", forms.text())
                      .add("description",
                           "what becomes of a packet that the stage fails on: \"fail\" ends "
                           "the run, \"skip\" leaves it out and lists it, { retry = n } tries "
                           "again first; sources take no packets, and collectors cannot try again")
                      .add("default", "fail")
                      .text());
  if (kind == StageKind::parallel_transform) {
    properties.add_raw("concurrency", integer("packets at once, at most", 1).text());
  }
}

std::string stage_schema(const StageRunner& stage) {
  JsonObject properties;
  properties.add_raw(
      "use",
      JsonObject().add("const", stage.type()).add("description", stage.description().doc).text());
  for (const ParameterInfo& parameter : stage.description().parameters) {
    properties.add_raw(parameter.name, parameter_schema(parameter, documentation(parameter)));
    for (const std::string& old : parameter.renamed_from) {
      properties.add_raw(old, parameter_schema(parameter, "Now called '" + parameter.name + "'."));
    }
  }
  add_common(properties, stage.kind());
  return JsonObject()
      .add("title", stage.type())
      .add("type", "object")
      .add_raw("properties", properties.text())
      .add("required", std::vector<std::string>{"use"})
      .add("additionalProperties", false)
      .text();
}

std::string stages_schema(Registry& registry) {
  JsonArray any;
  const std::vector<std::string> types = registry.stage_names();
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  for (const std::string& type : types) {
    if (registry.find_all(type).size() > 1) continue;  // a file that names it is refused
    try {
      any.add_raw(stage_schema(*registry.describe(type, type, descriptions.get())));
    } catch (const Error& error) {  // the others are worth having
      std::cerr << "seam: warning: without stage '" << type << "': " << error.full_message()
                << std::endl;
    }
  }
  if (descriptions) descriptions->save();
  // What a file lays over a stage of one that it extends need not say again what it is.
  any.add_raw(JsonObject()
                  .add("title", "a stage of a file that this one extends")
                  .add("type", "object")
                  .add_raw("properties", JsonObject().add_raw("use", "false").text())
                  .text());
  return typed("object", "The stages: a name of your choice each, and what it is.")
      .add_raw("additionalProperties", JsonObject().add_raw("anyOf", any.text()).text())
      .text();
}

std::string pipeline_schema() {
  return table(
      "The run as a whole.",
      JsonObject()
          .add_raw("name", typed("string", "of the run's folder and of reports").text())
          .add_raw("seed", integer("of all random numbers", 0).text())
          .add_raw(
              "threads",
              integer("the budget that all libraries share; else the machine's cores", 1).text())
          .add_raw("max_errors",
                   typed("number",
                         "packets that may be skipped in a whole run; or a share of them, below 1")
                       .add("minimum", std::int64_t{0})
                       .text())
          .add_raw("plugins", texts("plugin files or folders, relative to this file"))
          .text());
}

std::string limits_schema() {
  return table(
      "How much is under way at once.",
      JsonObject()
          .add_raw("packets", integer("under way in a flow at once", 1).add("default", 256).text())
          .add_raw("bytes", JsonObject()
                                .add("type", std::vector<std::string>{"integer", "string"})
                                .add("description", "the same in bytes: a number, or \"512 MiB\"")
                                .text())
          .add_raw("stall_seconds",
                   integer("a flow in which no stage finishes anything for so long is told about; "
                           "0: never",
                           0)
                       .add("default", 60)
                       .text())
          .text());
}

std::string schedule_schema() {
  const std::string flow = typed("string", "a flow's name").text();
  const std::string every =
      table("A flow that does not run in every epoch.",
            JsonObject()
                .add_raw("flow", flow)
                .add_raw("every", integer("5: in every fifth epoch, and in the last", 1).text())
                .text());
  const std::string entry =
      JsonObject().add_raw("anyOf", JsonArray().add_raw(flow).add_raw(every).text()).text();
  const std::string stop = table(
      "Ends the run after so many measurements without gain.",
      JsonObject()
          .add_raw("metric", typed("string", "STAGE.METRIC, such as \"recall.none.r@1\"").text())
          .add_raw("patience", integer("measurements", 1).text())
          .add_raw("goal", JsonObject()
                               .add("enum", std::vector<std::string>{"highest", "lowest"})
                               .add("default", "highest")
                               .text())
          .text());
  return table(
      "Which flow runs when; without it, every flow once.",
      JsonObject()
          .add_raw("epochs", integer("how many", 1).add("default", 1).text())
          .add_raw("before", texts("flows to run once, before the first epoch"))
          .add_raw("after", texts("flows to run once, after the last epoch"))
          .add_raw(
              "each_epoch",
              JsonObject()
                  .add_raw(
                      "anyOf",
                      JsonArray()
                          .add_raw(entry)
                          .add_raw(JsonObject().add("type", "array").add_raw("items", entry).text())
                          .text())
                  .add("description", "\"train\", or { flow = \"evaluate\", every = 5 }")
                  .text())
          .add_raw("checkpoint_every", integer("epochs", 1).add("default", 1).text())
          .add_raw("stop_early", stop)
          .text());
}

}  // namespace

std::string schema_text(const std::vector<std::string>& plugin_paths) {
  const int threads = count_cores().usable();
  obey_thread_budget(threads);
  Registry registry(default_search_path({}, plugin_paths), threads);
  const std::string flows =
      typed("object", "The ways of the packets.")
          .add_raw("additionalProperties",
                   typed("string", "a -> b -> c; a -> {b, c} -> d branches").text())
          .text();
  return JsonObject()
             .add("$schema", "http://json-schema.org/draft-07/schema#")
             .add("title", "A pipeline file of Seam")
             .add("type", "object")
             .add_raw(
                 "properties",
                 JsonObject()
                     .add_raw("extends", texts("files that this one is laid over, relative to it"))
                     .add_raw("pipeline", pipeline_schema())
                     .add_raw("limits", limits_schema())
                     .add_raw("stage", stages_schema(registry))
                     .add_raw("flow", flows)
                     .add_raw("schedule", schedule_schema())
                     .text())
             .add("additionalProperties", false)
             .text() +
         "\n";
}

ExitCode schema_verb(const SchemaArguments& arguments) {
  std::cout << schema_text(arguments.plugin_paths) << std::flush;
  return ExitCode::success;
}

}  // namespace seam::host
