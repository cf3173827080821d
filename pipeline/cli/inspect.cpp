#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <memory>
#include <optional>
#include <seam/field.hpp>
#include <string_view>

#include "pipeline/cli/values_json.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/config/stages.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/thread_budget.hpp"

namespace seam::host {
namespace {

using Rows = std::vector<std::vector<std::string>>;

void print_rows(const std::string& title, const Rows& rows) {
  if (rows.empty()) return;
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t at = 0; at < row.size(); ++at)
      widths[at] = std::max(widths[at], row[at].size());
  }
  std::cout << "\n" << title << "\n";
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t at = 0; at < row.size(); ++at)
      line += fmt::format(" {:<{}} ", row[at], widths[at]);
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << "\n";
  }
}

std::string default_text(const ParameterInfo& parameter) {
  if (parameter.default_value) return seam::to_text(*parameter.default_value);
  return parameter.required ? "required" : "not set";
}

/// " with a, b or c"
std::string layout_text(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) {
    text += text.empty() ? " with " : ", ";
    for (const char c : entry) text += c == '|' ? std::string(" or ") : std::string(1, c);
  }
  return text;
}

std::string accepted_text(const ParameterInfo& parameter) {
  if (parameter.folder_with) return "a folder" + layout_text(*parameter.folder_with);
  if (parameter.kind != ValueKind::reference) return accepted_by(parameter);
  return "a stage that offers " + parameter.interface;
}

/// "f32[N,3,H,W]" of tensors, whose type says nothing; "std::vector<std::string>[N]" of others.
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
  for (const FieldInfo& field : fields) {
    rows.push_back({field.name, field_text(field), field.doc});
  }
  return rows;
}

std::string traits_text(const StageRunner& stage) {
  const Description& description = stage.description();
  std::string text = kind_text(stage.kind());
  if (stage.on_compute_thread()) text += ", on the compute thread";
  if (description.keeps_state) text += ", keeps state";
  if (description.replaces_packets) text += ", replaces its packets";
  if (description.trains) text += ", trains";
  return text;
}

void print_text(const StageRunner& stage, const PluginFile& file) {
  const Description& description = stage.description();
  std::cout << stage.type() << ": " << traits_text(stage) << "\nfrom " << file.path.string()
            << "\n";
  if (!description.doc.empty()) std::cout << "\n" << description.doc << "\n";
  Rows parameters;
  for (const ParameterInfo& parameter : description.parameters) {
    parameters.push_back(
        {parameter.name, default_text(parameter), accepted_text(parameter), parameter.doc});
  }
  print_rows("parameters: name, default, accepted", parameters);
  print_rows("needs", field_rows(description.needs));
  print_rows("uses where present", field_rows(description.accepts));
  print_rows("provides", field_rows(description.provides));
  Rows offers;
  for (const OfferedInterface& offered : description.offers) offers.push_back({offered.interface});
  print_rows("offers to other stages", offers);
  Rows upstream;
  for (const UpstreamReference& reference : description.upstream) {
    upstream.push_back({reference.interface, reference.doc});
  }
  print_rows("takes from all stages before it", upstream);
  Rows labels;
  for (const std::string& label : description.labels_read) labels.push_back({label});
  print_rows("reads labels", labels);
  std::cout.flush();
}

/// A cell of a Markdown table.
std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.replace(at, 1, "\\|");
  }
  return text;
}

std::string code(const std::string& text) {
  return text.empty() ? text : "`" + text + "`";
}

void print_fields_markdown(const std::string& title, const std::vector<FieldInfo>& fields) {
  if (fields.empty()) return;
  std::cout << "\n| " << title << " | type | |\n|---|---|---|\n";
  for (const FieldInfo& field : fields) {
    const std::string type = field_text(field);
    std::cout << "| " << code(field.name) << " | " << code(cell(type)) << " | " << cell(field.doc)
              << " |\n";
  }
}

/// The part of a stage's page that its declaration knows.
void print_markdown(const StageRunner& stage) {
  const Description& description = stage.description();
  std::string traits = traits_text(stage);
  traits.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(traits.front())));
  std::cout << traits << ". " << description.doc << "\n";
  if (!description.parameters.empty()) {
    std::cout << "\n| parameter | default | takes | |\n|---|---|---|---|\n";
  }
  for (const ParameterInfo& parameter : description.parameters) {
    const std::string value =
        parameter.default_value ? code(cell(default_text(parameter))) : default_text(parameter);
    std::cout << "| " << code(parameter.name) << " | " << value << " | "
              << cell(accepted_text(parameter)) << " | " << cell(parameter.doc) << " |\n";
  }
  print_fields_markdown("needs", description.needs);
  print_fields_markdown("uses where present", description.accepts);
  print_fields_markdown("provides", description.provides);
  for (const OfferedInterface& offered : description.offers) {
    std::cout << "\nOffers " << code(offered.interface) << " to other stages.\n";
  }
  for (const UpstreamReference& reference : description.upstream) {
    std::cout << "\nTakes " << code(reference.interface)
              << " from all stages before it: " << reference.doc << ".\n";
  }
  for (const std::string& label : description.labels_read) {
    std::cout << "\nReads the label " << code(label) << ".\n";
  }
  std::cout.flush();
}

std::string_view kind_key(ValueKind kind) {
  switch (kind) {
    case ValueKind::boolean:
      return "boolean";
    case ValueKind::integer:
      return "integer";
    case ValueKind::number:
      return "number";
    case ValueKind::text:
      return "text";
    case ValueKind::path:
      return "path";
    case ValueKind::enumeration:
      return "enumeration";
    case ValueKind::integers:
      return "integers";
    case ValueKind::numbers:
      return "numbers";
    case ValueKind::texts:
      return "texts";
    case ValueKind::enumerations:
      return "enumerations";
    case ValueKind::reference:
      return "reference";
  }
  return "";
}

Json parameter_json(const ParameterInfo& parameter) {
  const auto bound = [](const std::optional<double>& value) {
    return value ? value_json(Value{*value}) : Json();
  };
  return {{"name", parameter.name},
          {"kind", kind_key(parameter.kind)},
          {"doc", parameter.doc},
          {"unit", parameter.unit},
          {"required", parameter.required},
          {"default", parameter.default_value ? value_json(*parameter.default_value) : Json()},
          {"least", bound(parameter.least)},
          {"most", bound(parameter.most)},
          {"choices", parameter.choices},
          {"renamed_from", parameter.renamed_from},
          {"interface", parameter.interface},
          {"folder_with", parameter.folder_with ? Json(*parameter.folder_with) : Json()}};
}

template <class List, class Write>
Json list_json(const List& list, const Write& write) {
  Json array = Json::array();
  for (const auto& element : list) array.push_back(write(element));
  return array;
}

Json fields_json(const std::vector<FieldInfo>& fields) {
  return list_json(fields, [](const FieldInfo& field) -> Json {
    return {{"name", field.name},
            {"type", field.type},
            {"contract", field.contract},
            {"doc", field.doc}};
  });
}

void print_json(const StageRunner& stage, const PluginFile& file) {
  const Description& description = stage.description();
  const auto offered = [](const OfferedInterface& offer) -> Json { return offer.interface; };
  const auto taken = [](const UpstreamReference& upstream) -> Json {
    return {{"interface", upstream.interface}, {"doc", upstream.doc}};
  };
  std::cout << json_line({{"stage", stage.type()},
                          {"plugin", file.path.string()},
                          {"kind", kind_text(stage.kind())},
                          {"doc", description.doc},
                          {"compute_thread", stage.on_compute_thread()},
                          {"keeps_state", description.keeps_state},
                          {"state_made_by_flow", description.state_made_by_flow},
                          {"replaces_packets", description.replaces_packets},
                          {"trains", description.trains},
                          {"parameters", list_json(description.parameters, parameter_json)},
                          {"needs", fields_json(description.needs)},
                          {"accepts", fields_json(description.accepts)},
                          {"provides", fields_json(description.provides)},
                          {"offers", list_json(description.offers, offered)},
                          {"upstream", list_json(description.upstream, taken)},
                          {"labels_read", description.labels_read}})
            << std::endl;
}

}  // namespace

ExitCode inspect_verb(const InspectArguments& arguments) {
  const int threads = count_cores().usable();
  obey_thread_budget(threads);
  Registry registry(default_search_path({}, arguments.plugin_paths), threads);
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  const std::unique_ptr<StageRunner> stage =
      registry.describe(arguments.stage, arguments.stage, descriptions.get());
  if (descriptions) descriptions->save();
  const PluginFile& file = *registry.find(arguments.stage);
  if (arguments.json) {
    print_json(*stage, file);
  } else if (arguments.markdown) {
    print_markdown(*stage);
  } else {
    print_text(*stage, file);
  }
  return ExitCode::success;
}

}  // namespace seam::host
