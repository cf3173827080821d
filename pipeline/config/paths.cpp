#include "pipeline/config/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "pipeline/config/values.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

constexpr std::size_t most_nested_paths = 32;  // paths within paths

std::string brought_by(const FlowNode& node) {
  if (node.paths.empty()) return {};
  return fmt::format("it comes from path '{}' ({})", node.paths.front(), line_of(node.place));
}

}  // namespace

Paths::Paths(const Table& tree, const std::vector<StageDraft>& stages, const Sources& sources,
             Findings& findings)
    : sources_(sources), findings_(findings), names_(names_of(stages)) {
  const Table* table = read_table(tree, "path", findings);
  if (table == nullptr) return;
  for (const Entry& line : table->entries) {
    Path& path = paths_[line.key];
    path.line = &line;
    order_.push_back(line.key);
    if (!is_flow_name(line.key)) {
      findings.error("path-name", line.key_place,
                     fmt::format("'{}' is not a valid path name", line.key),
                     {"names have letters, digits, '_' and '-', and begin with a letter or '_'"});
      path.read = true;
    } else if (const StageDraft* stage = find_stage(stages, line.key)) {
      findings.error("name-twice", line.key_place,
                     fmt::format("'{}' is the name of a path and of a stage", line.key),
                     {fmt::format("the stage is in {}", line_of(stage->spec.place)),
                      "a flow could mean either: rename one of them"});
      path.read = true;
    }
  }
  names_.insert(names_.end(), order_.begin(), order_.end());
  std::vector<std::string> readers;
  for (const std::string& name : order_) read(name, readers);
}

void Paths::read(const std::string& name, std::vector<std::string>& readers) {
  Path& path = paths_.at(name);
  if (path.read) return;
  readers.push_back(name);
  if (const auto written = read_text(*path.line, "[path]", findings_)) {
    const FlowText text = parse_flow(*written, TextKind::path);
    if (!report_faults(text, *path.line, sources_, findings_) &&
        are_sound(*path.line, text, readers)) {
      path.expanded = expand(*path.line, text, TextKind::path);
    }
  }
  path.read = true;
  readers.pop_back();
}

/// Returns whether all names of the text are known and lead to stages; reads the paths among them.
bool Paths::are_sound(const Entry& line, const FlowText& text, std::vector<std::string>& readers) {
  bool sound = true;
  for (const FlowStep& step : text.steps) {
    const Place place = place_inside(sources_, line.node, step.offset, step.stage.size());
    if (find(step.stage) == nullptr) {
      if (contains(names_, step.stage)) continue;
      report_unknown_name(step.stage, place, names_, findings_);
      sound = false;
      continue;
    }
    const auto start = std::ranges::find(readers, step.stage);
    if (start != readers.end()) {
      const std::vector<std::string> circle(start, readers.end());
      findings_.error("path-cycle", place,
                      fmt::format("path '{}' contains itself{}", step.stage,
                                  circle.size() > 1 ? " through others" : ""),
                      {circle_text(circle)});
      sound = false;
    } else if (readers.size() >= most_nested_paths) {
      findings_.error("path-cycle", place,
                      fmt::format("paths are nested more than {} levels deep", most_nested_paths));
      sound = false;
    } else {
      read(step.stage, readers);
    }
  }
  return sound;
}

const Paths::Path* Paths::find(const std::string& name) const {
  const auto found = paths_.find(name);
  return found == paths_.end() ? nullptr : &found->second;
}

std::optional<Expanded> Paths::expand(const Entry& line, const FlowText& text,
                                      TextKind kind) const {
  Expanded result;
  std::map<std::string, FlowNode> seen;
  std::vector<std::vector<std::size_t>> ends(text.steps.size());  // of each step's expansion
  const auto ends_of = [&](const std::vector<std::size_t>& steps) {
    std::vector<std::size_t> all;
    for (const std::size_t step : steps)
      all.insert(all.end(), ends[step].begin(), ends[step].end());
    return all;
  };
  for (std::size_t at = 0; at < text.steps.size(); ++at) {
    const FlowStep& step = text.steps[at];
    const Place place = place_inside(sources_, line.node, step.offset, step.stage.size());
    const Path* path = find(step.stage);
    Expanded part{{{step.stage, {}, place}}, {0}};
    if (path != nullptr) {
      if (!path->expanded) return std::nullopt;
      part = *path->expanded;
    }
    const std::size_t offset = result.nodes.size();
    const std::vector<std::size_t> inputs = ends_of(step.inputs);
    std::size_t heads = 0;
    for (FlowNode& node : part.nodes) {
      if (path != nullptr) node.paths.insert(node.paths.begin(), step.stage);
      if (const auto [earlier, first] = seen.emplace(node.stage, node); !first) {
        findings_.error("stage-twice", place,
                        fmt::format("stage '{}' is already in this {}", node.stage,
                                    kind == TextKind::flow ? "flow" : "path"),
                        {brought_by(earlier->second), brought_by(node)});
        return std::nullopt;
      }
      if (node.inputs.empty()) {
        node.inputs = inputs;
        ++heads;
      } else {
        for (std::size_t& input : node.inputs) input += offset;
      }
      result.nodes.push_back(std::move(node));
    }
    if (kind == TextKind::flow && inputs.empty() && heads > 1) {
      findings_.error("flow-head", place,
                      fmt::format("path '{}' begins with branches, which can only follow a stage; "
                                  "a flow begins with one source",
                                  step.stage));
      return std::nullopt;
    }
    for (const std::size_t end : part.ends) ends[at].push_back(end + offset);
  }
  result.ends = ends_of(text.ends);
  return result;
}

std::vector<PathSpec> Paths::specs() const {
  std::vector<PathSpec> specs;
  for (const std::string& name : order_) {
    const Path& path = paths_.at(name);
    if (path.expanded) specs.push_back({name, *path.line->node.text()});
  }
  return specs;
}

bool report_faults(const FlowText& text, const Entry& line, const Sources& sources,
                   Findings& findings) {
  for (const TextFault& fault : text.faults) {
    findings.error(fault.code, place_inside(sources, line.node, fault.offset, fault.length),
                   fault.message, fault.notes);
  }
  return !text.faults.empty();
}

void report_unknown_name(const std::string& name, const Place& place,
                         const std::vector<std::string>& known, Findings& findings) {
  findings.error(
      "unknown-stage", place, fmt::format("there is no stage or path '{}'", name),
      {did_you_mean(name, known),
       fmt::format("define it as a stage, [stage.{0}], or in [path], {0} = \"a -> b\"", name)});
}

std::string path_note(const FlowSpec& flow, const FlowNode& node) {
  if (node.paths.empty()) return {};
  std::string note = "it is in ";
  for (auto path = node.paths.rbegin(); path != node.paths.rend(); ++path) {
    note += fmt::format("{}path '{}'", path == node.paths.rbegin() ? "" : " of ", *path);
  }
  return note + fmt::format(", used by flow '{}' in {}", flow.name, line_of(flow.place));
}

void check_path_use(const Table& tree, const std::string& file, const std::vector<FlowSpec>& flows,
                    Findings& findings) {
  const Entry* entry = tree.find("path");
  const Table* table = entry != nullptr ? entry->node.table() : nullptr;
  if (table == nullptr) return;
  std::set<std::string> used;
  std::set<std::string> known;
  for (const FlowSpec& flow : flows) {
    for (const FlowNode& node : flow.nodes) used.insert(node.paths.begin(), node.paths.end());
  }
  for (const Entry& line : table->entries) known.insert(line.key);
  for (const Entry& line : table->entries) {
    if (used.contains(line.key)) continue;
    if (line.key_place.file == "--set") {
      known.erase(line.key);
      findings.error("path-unused", line.key_place,
                     fmt::format("no flow uses a path '{}'", line.key),
                     {did_you_mean(line.key, {known.begin(), known.end()})});
      known.insert(line.key);
    } else if (line.key_place.file == file) {
      findings.warning("path-unused", line.key_place,
                       fmt::format("path '{}' is not used in any flow", line.key));
    }
  }
}

}  // namespace seam::host
