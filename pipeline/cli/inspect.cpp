#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

#include "pipeline/cli/values_json.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/config/stages.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/json.hpp"
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

std::string accepted_text(const ParameterInfo& parameter) {
  if (parameter.kind != ValueKind::reference) return accepted_by(parameter);
  return "a stage that offers " + parameter.interface;
}

/// A tensor by its contract; of another type also how many rows or elements it has, where its
/// contract says so: "std::vector<std::string>[N]".
std::string field_type_text(const FieldInfo& field) {
  const std::string type = readable_type(field.type);
  const std::size_t shape = field.contract.find('[');
  if (shape == std::string::npos) return type;
  return type == "torch::Tensor" ? field.contract : type + field.contract.substr(shape);
}

Rows field_rows(const std::vector<FieldInfo>& fields) {
  Rows rows;
  for (const FieldInfo& field : fields) {
    rows.push_back({field.name, field_type_text(field), field.doc});
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
    std::cout << "| " << code(field.name) << " | " << code(cell(field_type_text(field))) << " | "
              << cell(field.doc) << " |\n";
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

std::string parameter_json(const ParameterInfo& parameter) {
  JsonObject object;
  object.add("name", parameter.name)
      .add("kind", kind_key(parameter.kind))
      .add("doc", parameter.doc)
      .add("unit", parameter.unit)
      .add("required", parameter.required)
      .add_raw("default", parameter.default_value ? value_json(*parameter.default_value) : "null")
      .add_raw("least", parameter.least ? json_number(*parameter.least) : "null")
      .add_raw("most", parameter.most ? json_number(*parameter.most) : "null")
      .add("choices", parameter.choices)
      .add("renamed_from", parameter.renamed_from)
      .add("interface", parameter.interface);
  return object.text();
}

std::string fields_json(const std::vector<FieldInfo>& fields) {
  JsonArray array;
  for (const FieldInfo& field : fields) {
    array.add_raw(JsonObject()
                      .add("name", field.name)
                      .add("type", field.type)
                      .add("contract", field.contract)
                      .add("doc", field.doc)
                      .text());
  }
  return array.text();
}

void print_json(const StageRunner& stage, const PluginFile& file) {
  const Description& description = stage.description();
  JsonArray parameters;
  for (const ParameterInfo& parameter : description.parameters) {
    parameters.add_raw(parameter_json(parameter));
  }
  JsonArray offers;
  for (const OfferedInterface& offered : description.offers) offers.add(offered.interface);
  JsonArray upstream;
  for (const UpstreamReference& reference : description.upstream) {
    upstream.add_raw(
        JsonObject().add("interface", reference.interface).add("doc", reference.doc).text());
  }
  std::cout << JsonObject()
                   .add("stage", stage.type())
                   .add("plugin", file.path.string())
                   .add("kind", kind_text(stage.kind()))
                   .add("doc", description.doc)
                   .add("compute_thread", stage.on_compute_thread())
                   .add("keeps_state", description.keeps_state)
                   .add("replaces_packets", description.replaces_packets)
                   .add("trains", description.trains)
                   .add_raw("parameters", parameters.text())
                   .add_raw("needs", fields_json(description.needs))
                   .add_raw("accepts", fields_json(description.accepts))
                   .add_raw("provides", fields_json(description.provides))
                   .add_raw("offers", offers.text())
                   .add_raw("upstream", upstream.text())
                   .add("labels_read", description.labels_read)
                   .text()
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
