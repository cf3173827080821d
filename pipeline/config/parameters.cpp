#include "pipeline/config/parameters.hpp"

#include <algorithm>
#include <array>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/merge.hpp"
#include "pipeline/config/source.hpp"
#include "seam/declaration.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

std::string text_of(const Node& node);

std::string inline_text(const Table& table) {
  std::string text;
  for (const Entry& entry : table.entries) {
    text += (text.empty() ? "" : ", ") + entry.key + " = " + text_of(entry.node);
  }
  return "{ " + text + " }";
}

std::string text_of(const Node& node) {
  if (const auto* flag = std::get_if<bool>(&node.value)) return seam::to_text(Value{*flag});
  if (const auto* integer = std::get_if<std::int64_t>(&node.value)) {
    return seam::to_text(Value{*integer});
  }
  if (const auto* number = std::get_if<double>(&node.value)) return seam::to_text(Value{*number});
  if (const std::string* text = node.text()) return seam::to_text(Value{*text});
  if (const auto* moment = std::get_if<Moment>(&node.value)) return moment->text;
  if (const Table* table = node.table()) return inline_text(*table);
  std::string text;
  for (const Node& element : *node.array()) text += (text.empty() ? "" : ", ") + text_of(element);
  return "[" + text + "]";
}

void flatten(const Table& table, const std::string& prefix, Parameters& parameters) {
  for (const Entry& entry : table.entries) {
    const std::string key = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (const Table* inner = entry.node.table()) {
      flatten(*inner, key, parameters);
    } else {
      parameters[key] = text_of(entry.node);
    }
  }
}

}  // namespace

Parameters parameters_of(const std::string& resolved, const std::string& file) {
  Sources sources;
  Findings findings(sources);
  const Source& source = sources.add(file, resolved);
  Node root = read_document(source, findings);
  if (!root.broken) expand_tree(*root.table(), {}, sources, findings);
  if (findings.has_errors()) {
    throw Error("'" + file +
                "' is not the pipeline of a run: " + findings.in_order().front().message);
  }
  Parameters parameters;
  flatten(*root.table(), "", parameters);
  return parameters;
}

bool changes_results(std::string_view key) {
  static constexpr std::array<std::string_view, 5> without_effect{
      "pipeline.name", "pipeline.threads", "pipeline.plugins", "schedule.checkpoint_every",
      "schedule.keep"};
  return std::ranges::find(without_effect, key) == without_effect.end() &&
         !key.starts_with("limits.") && !key.starts_with("pipeline.tensorboard") &&
         !key.starts_with("schedule.checkpoint_every.") && !key.starts_with("schedule.keep.") &&
         !key.ends_with(".threads") && !key.ends_with(".concurrency");
}

}  // namespace seam::host
