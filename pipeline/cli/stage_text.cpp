#include "pipeline/cli/stage_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <iostream>
#include <seam/field.hpp>
#include <sstream>
#include <string_view>

#include "pipeline/config/stages.hpp"
#include "pipeline/text/markdown.hpp"
#include "pipeline/text/parse.hpp"
#include "pipeline/text/table.hpp"

namespace seam::host {
namespace {

using Rows = std::vector<std::vector<std::string>>;

void print_rows(const std::string& title, Rows rows) {
  if (rows.empty()) return;
  for (auto& row : rows) row.insert(row.begin(), "");  // indents the table
  std::cout << "\n" << title << "\n" << columns(rows, {});
}

std::string default_text(const ParameterInfo& parameter, const std::optional<Value>& value) {
  if (value) return seam::to_text(*value);
  return parameter.required ? "required" : "not set";
}

/// "64 (as_published: 32)": the default, and those of other presets.
std::string default_text(const ParameterInfo& parameter) {
  std::string others;
  for (const auto& [preset, value] : parameter.preset_defaults) {
    others += fmt::format("{}{}: {}", others.empty() ? " (" : ", ", preset,
                          default_text(parameter, value));
  }
  return default_text(parameter, parameter.default_value) + (others.empty() ? "" : others + ")");
}

/// " with a, b or c"
std::string layout_text(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) {
    text += (text.empty() ? " with " : ", ") + replaced(entry, "|", " or ");
  }
  return text;
}

std::string accepted_text(const ParameterInfo& parameter) {
  if (parameter.folder_with) return "a folder" + layout_text(*parameter.folder_with);
  if (parameter.kind != ValueKind::reference) return accepted_by(parameter);
  return "a stage that offers " + parameter.interface;
}

/// "f32[N,3,H,W]" for tensors, whose type adds no information; "std::vector<std::string>[N]" for
/// other types.
std::string field_text(const FieldInfo& field) {
  const bool tensor = field.type == "at::Tensor";
  if (tensor && !field.contract.empty()) return field.contract;
  std::string type = readable_type(field.type);
  if (field.contract.empty()) return type;
  return field.contract.front() == '*' ? type + field.contract.substr(1)
                                       : type + " " + field.contract;
}

Rows field_rows(const std::vector<FieldInfo>& fields) {
  Rows rows;
  for (const FieldInfo& field : fields) rows.push_back({field.name, field_text(field), field.doc});
  return rows;
}

std::string traits_text(const StageRunner& stage) {
  const Description& description = stage.description();
  std::string text = kind_text(stage.kind());
  if (stage.on_compute_thread()) text += ", on the compute thread";
  if (description.keeps_state) text += ", keeps state";
  if (description.replaces_packets) text += ", replaces its packets";
  if (description.trains) text += ", trains";
  if (description.only_writes) text += ", only writes";
  return text;
}

/// The value set for the parameter, or nullopt.
std::optional<Value> set_value(const StageSpec& spec, const std::string& parameter) {
  if (const auto value = spec.values.find(parameter); value != spec.values.end()) {
    return value->second;
  }
  if (const auto target = spec.references.find(parameter); target != spec.references.end()) {
    return Value{target->second};
  }
  return std::nullopt;
}

std::string value_text(const StageSpec& spec, const ParameterInfo& parameter) {
  if (const auto value = set_value(spec, parameter.name)) return seam::to_text(*value);
  return default_text(parameter, parameter.default_value) +
         (parameter.default_value ? " (default)" : "");
}

std::string code(const std::string& text) {
  return text.empty() ? text : "`" + text + "`";
}

void print_fields_markdown(const std::string& title, const std::vector<FieldInfo>& fields) {
  if (fields.empty()) return;
  std::cout << "\n| " << title << " | type | |\n|---|---|---|\n";
  for (const FieldInfo& field : fields) {
    const std::string type = field_text(field);
    std::cout << "| " << code(field.name) << " | " << code(markdown_cell(type)) << " | "
              << markdown_cell(field.doc) << " |\n";
  }
}

std::string better_text(Better better) {
  return better == Better::higher ? "higher" : "lower";
}

/// In the order of the enumeration.
constexpr std::array<std::string_view, 11> kind_keys{
    "boolean",  "integer", "number", "text",         "path",     "enumeration",
    "integers", "numbers", "texts",  "enumerations", "reference"};

struct ValueWriter {
  Json operator()(double number) const {
    return std::isfinite(number) ? Json(number) : Json(seam::to_text(Value{number}));
  }
  Json operator()(const std::vector<double>& list) const { return list_json(list, *this); }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

Json condition_json(const std::optional<Condition>& condition) {
  if (!condition) return {};
  return {{"parameter", condition->parameter},
          {"values", list_json(condition->values, value_json)}};
}

Json default_json(const std::pair<const std::string, std::optional<Value>>& preset) {
  return {{"preset", preset.first},
          {"default", preset.second ? value_json(*preset.second) : Json()}};
}

Json parameter_json(const ParameterInfo& parameter, const StageSpec* spec) {
  const auto bound = [](const std::optional<double>& value) {
    return value ? value_json(Value{*value}) : Json();
  };
  Json json = {{"name", parameter.name},
               {"kind", kind_keys.at(static_cast<std::size_t>(parameter.kind))},
               {"doc", parameter.doc},
               {"unit", parameter.unit},
               {"required", parameter.required},
               {"default", parameter.default_value ? value_json(*parameter.default_value) : Json()},
               {"least", bound(parameter.least)},
               {"most", bound(parameter.most)},
               {"choices", parameter.choices},
               {"renamed_from", parameter.renamed_from},
               {"interface", parameter.interface},
               {"folder_with", parameter.folder_with ? Json(*parameter.folder_with) : Json()},
               {"must_exist", parameter.exists_in.has_value()},
               {"initial", parameter.initial},
               {"role", to_string(parameter.role)},
               {"unused_with", condition_json(parameter.unused_with)},
               {"only_with", condition_json(parameter.only_with)},
               {"preset_defaults", list_json(parameter.preset_defaults, default_json)}};
  if (spec == nullptr) return json;
  const auto set = set_value(*spec, parameter.name);
  json["value"] = set ? value_json(*set) : json["default"];
  json["set"] = set.has_value();
  return json;
}

Json fields_json(const std::vector<FieldInfo>& fields) {
  return list_json(fields, [](const FieldInfo& field) -> Json {
    return {{"name", field.name},
            {"type", field.type},
            {"contract", field.contract},
            {"doc", field.doc}};
  });
}

Json part_json(const NetworkPart& part) {
  const auto tensor_json = [](const NetworkTensor& tensor) -> Json {
    return {{"name", tensor.name}, {"shape", tensor.shape}, {"use", to_string(tensor.use)}};
  };
  return {{"name", part.name},
          {"kind", part.kind},
          {"tensors", list_json(part.tensors, tensor_json)},
          {"parts", list_json(part.parts, part_json)}};
}

Json network_json(const NetworkPart& network) {
  const NetworkSize size = size_of(network);
  return {{"numbers", size.total()},
          {"trained", size.trained},
          {"frozen", size.frozen},
          {"buffers", size.buffers},
          {"tree", part_json(network)}};
}

}  // namespace

Json value_json(const Value& value) {
  return std::visit(ValueWriter{}, value);
}

void print_text(const Inspected& inspected) {
  const StageRunner& stage = inspected.stage;
  const Description& description = stage.description();
  const StageSpec* const spec = inspected.spec;
  if (spec != nullptr) std::cout << "stage '" << spec->name << "', ";
  std::cout << stage.type() << ": " << traits_text(stage) << "\nfrom " << inspected.plugin << "\n";
  if (!description.doc.empty()) std::cout << "\n" << description.doc << "\n";
  Rows parameters;
  for (const ParameterInfo& parameter : description.parameters) {
    parameters.push_back({parameter.name,
                          spec != nullptr ? value_text(*spec, parameter) : default_text(parameter),
                          accepted_text(parameter), documentation_of(parameter)});
  }
  print_rows(
      spec != nullptr ? "parameters: name, value, accepted" : "parameters: name, default, accepted",
      parameters);
  print_rows("needs", field_rows(description.needs));
  print_rows("uses if present", field_rows(description.accepts));
  print_rows("provides", field_rows(description.provides));
  Rows offers;
  for (const OfferedInterface& offered : description.offers) offers.push_back({offered.interface});
  print_rows("offers", offers);
  Rows upstream;
  for (const UpstreamReference& reference : description.upstream) {
    upstream.push_back({reference.interface, reference.doc});
  }
  print_rows("takes from all stages before it", upstream);
  Rows labels;
  for (const std::string& label : description.labels_read) labels.push_back({label});
  print_rows("reads labels", labels);
  Rows headlines;
  for (const Headline& headline : description.headlines) {
    headlines.push_back({headline.metric, better_text(headline.better) + " is better"});
  }
  print_rows("headline metrics", headlines);
  std::cout.flush();
}

void print_text(const InspectedField& inspected) {
  std::cout << "field '" << inspected.name << "' (stages with default parameters)\n";
  const auto rows = [](const std::vector<InspectedField::Use>& uses) {
    Rows result;
    for (const auto& [stage, field] : uses) result.push_back({stage, field_text(field), field.doc});
    return result;
  };
  print_rows("provided by", rows(inspected.provided));
  print_rows("needed by", rows(inspected.needed));
  print_rows("used if present by", rows(inspected.accepted));
  std::cout.flush();
}

void print_network(const NetworkPart& network) {
  std::cout << "\nnetwork: part, kind, number of elements, own tensors\n";
  std::istringstream lines(seam::to_text(network));
  for (std::string line; std::getline(lines, line);) std::cout << "  " << line << "\n";
  std::cout.flush();
}

void print_markdown(const StageRunner& stage) {
  const Description& description = stage.description();
  std::string traits = traits_text(stage);
  traits.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(traits.front())));
  std::cout << traits << ". " << description.doc << "\n";
  if (!description.parameters.empty()) {
    std::cout << "\n| parameter | default | takes | |\n|---|---|---|---|\n";
  }
  for (const ParameterInfo& parameter : description.parameters) {
    const std::string value = parameter.default_value ? code(markdown_cell(default_text(parameter)))
                                                      : default_text(parameter);
    std::cout << "| " << code(parameter.name) << " | " << value << " | "
              << markdown_cell(accepted_text(parameter)) << " | "
              << markdown_cell(documentation_of(parameter)) << " |\n";
  }
  print_fields_markdown("needs", description.needs);
  print_fields_markdown("uses if present", description.accepts);
  print_fields_markdown("provides", description.provides);
  for (const OfferedInterface& offered : description.offers) {
    std::cout << "\nOffers " << code(offered.interface) << ".\n";
  }
  for (const UpstreamReference& reference : description.upstream) {
    std::cout << "\nTakes " << code(reference.interface)
              << " from all stages before it: " << reference.doc << ".\n";
  }
  for (const std::string& label : description.labels_read) {
    std::cout << "\nReads the label " << code(label) << ".\n";
  }
  if (!description.headlines.empty()) std::cout << "\n| headline metric | better |\n|---|---|\n";
  for (const Headline& headline : description.headlines) {
    std::cout << "| " << code(markdown_cell(headline.metric)) << " | "
              << better_text(headline.better) << " |\n";
  }
  std::cout.flush();
}

void print_json(const Inspected& inspected, const std::optional<NetworkPart>& network) {
  const StageRunner& stage = inspected.stage;
  const Description& description = stage.description();
  const auto described = [&](const ParameterInfo& parameter) {
    return parameter_json(parameter, inspected.spec);
  };
  const auto offered = [](const OfferedInterface& offer) -> Json { return offer.interface; };
  const auto judged = [](const Headline& headline) -> Json {
    return {{"metric", headline.metric}, {"better", better_text(headline.better)}};
  };
  const auto taken = [](const UpstreamReference& upstream) -> Json {
    return {{"interface", upstream.interface}, {"doc", upstream.doc}};
  };
  Json json = {{"stage", stage.type()},
               {"plugin", inspected.plugin},
               {"kind", kind_text(stage.kind())},
               {"doc", description.doc},
               {"compute_thread", stage.on_compute_thread()},
               {"keeps_state", description.keeps_state},
               {"state_made_by_flow", description.state_made_by_flow},
               {"replaces_packets", description.replaces_packets},
               {"trains", description.trains},
               {"only_writes", description.only_writes},
               {"parameters", list_json(description.parameters, described)},
               {"needs", fields_json(description.needs)},
               {"accepts", fields_json(description.accepts)},
               {"provides", fields_json(description.provides)},
               {"offers", list_json(description.offers, offered)},
               {"upstream", list_json(description.upstream, taken)},
               {"labels_read", description.labels_read},
               {"headlines", list_json(description.headlines, judged)},
               {"network", network ? network_json(*network) : Json()}};
  if (inspected.spec != nullptr) json["name"] = inspected.spec->name;
  std::cout << json_line(json) << std::endl;
}

void print_json(const InspectedField& inspected) {
  const auto use = [](const InspectedField::Use& one) {
    Json json = fields_json({one.field}).front();
    json["stage"] = one.stage;
    return json;
  };
  std::cout << json_line({{"field", inspected.name},
                          {"provides", list_json(inspected.provided, use)},
                          {"needs", list_json(inspected.needed, use)},
                          {"accepts", list_json(inspected.accepted, use)}})
            << std::endl;
}

}  // namespace seam::host
