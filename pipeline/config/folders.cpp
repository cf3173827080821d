#include "pipeline/config/folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "pipeline/config/source.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

/// "a|b" as "'a' or 'b'".
std::string one_of(const std::string& names) {
  std::string text;
  for (const std::string_view name : split(names, '|')) {
    text += (text.empty() ? "'" : " or '") + std::string(name) + "'";
  }
  return text;
}

std::string list_of(const std::vector<std::string>& entries) {
  return enumerated(mapped(entries, one_of));
}

std::vector<std::string> missing_in(const fs::path& folder,
                                    const std::vector<std::string>& entries) {
  std::vector<std::string> missing;
  for (const std::string& entry : entries) {
    const bool there = std::ranges::any_of(split(entry, '|'), [&](std::string_view name) {
      std::error_code error;
      return fs::exists(folder / name, error);
    });
    if (!there) missing.push_back(entry);
  }
  return missing;
}

struct FolderFault {
  std::string code;
  std::string text;
};

/// Returns what is wrong with a folder, or nullopt.
std::optional<FolderFault> fault_of(const fs::path& folder,
                                    const std::vector<std::string>& entries) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  const std::string shown = "'" + as_utf8(folder.string()) + "'";
  if (status.type() == fs::file_type::not_found)
    return FolderFault{"missing-folder", "there is no folder " + shown};
  if (error)
    return FolderFault{"missing-folder", shown + " cannot be examined: " + error.message()};
  if (!fs::is_directory(status)) return FolderFault{"missing-folder", shown + " is not a folder"};
  const std::vector<std::string> missing = missing_in(folder, entries);
  if (missing.empty()) return std::nullopt;
  return FolderFault{"folder-layout",
                     "the folder " + shown + " does not contain " + list_of(missing)};
}

/// The stages of these flows and those that they refer to.
std::set<std::string> reached(const PipelineSpec& spec, const std::set<std::string>& flows) {
  std::vector<std::string> open;
  for (const FlowSpec& flow : spec.flows) {
    if (!flows.contains(flow.name)) continue;
    for (const FlowNode& node : flow.nodes) open.push_back(node.stage);
  }
  std::set<std::string> stages;
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (!stages.insert(name).second) continue;
    const StageSpec* stage = find_in(spec.stages, name, &StageSpec::name);
    if (stage == nullptr) continue;
    for (const auto& [parameter, target] : stage->references) open.push_back(target);
  }
  return stages;
}

class FolderCheck {
 public:
  FolderCheck(const PipelineSpec& spec, const std::vector<StageDraft>& stages, PipelineOf of,
              Findings& findings)
      : stages_(stages),
        of_(of),
        findings_(findings),
        from_the_start_(reached(spec, first_flows(spec.schedule))) {}

  void check(const StageDraft& stage) {
    for (const ParameterInfo& parameter : stage.runner->description().parameters) {
      if (parameter.folder_with) check_folder(stage, parameter);
      const bool restored = parameter.initial && of_ == PipelineOf::recorded_run;
      if (parameter.exists_in && !restored) check_exists(stage, parameter);
    }
  }
  [[nodiscard]] std::vector<std::string> take_needed() { return std::move(needed_); }

 private:
  /// Flows that run first, or after flows of the same epoch only.
  static std::set<std::string> first_flows(const ScheduleSpec& schedule) {
    if (!schedule.before.empty()) return {schedule.before.front()};
    std::set<std::string> flows(schedule.after.begin(), schedule.after.end());
    for (const ScheduledFlow& turn : schedule.each_epoch) flows.insert(turn.flow);
    return flows;
  }

  /// The stage whose table sets the parameter: with `like`, possibly another one. So a folder that
  /// several stages share is reported once.
  [[nodiscard]] const StageDraft& set_by(const StageDraft& stage,
                                         const std::string& parameter) const {
    const StageDraft* owner = &stage;
    const auto place = stage.value_places.find(parameter);
    while (place != stage.value_places.end()) {
      const StageDraft* other = find_stage(stages_, owner->spec.like);
      if (other == nullptr) break;
      const auto there = other->value_places.find(parameter);
      if (there == other->value_places.end() || !same(there->second, place->second)) break;
      owner = other;
    }
    return *owner;
  }

  static bool same(const Place& a, const Place& b) {
    return std::tie(a.file, a.line, a.column) == std::tie(b.file, b.line, b.column);
  }

  /// The value of a path parameter; empty: none.
  static std::string path_of(const StageDraft& stage, const ParameterInfo& parameter) {
    const auto set = stage.spec.values.find(parameter.name);
    const Value* value = set != stage.spec.values.end() ? &set->second
                         : parameter.default_value      ? &*parameter.default_value
                                                        : nullptr;
    const auto* const path = value != nullptr ? std::get_if<std::string>(value) : nullptr;
    return path != nullptr ? *path : std::string();
  }

  /// Warns at the parameter that there is no data; a run on this machine may need it.
  void warn(const StageDraft& stage, const ParameterInfo& parameter, const std::string& code,
            const std::string& text, std::vector<std::string> notes) {
    const std::string message = fmt::format("'{}' of {}: {}", parameter.name,
                                            described(set_by(stage, parameter.name)), text);
    const auto place = stage.value_places.find(parameter.name);
    findings_.warning(code, place != stage.value_places.end() ? place->second : stage.spec.place,
                      message, std::move(notes));
    if (from_the_start_.contains(stage.spec.name)) add_unless_present(needed_, message);
  }

  /// A note on the folder that a relative path begins in.
  static std::string base_of(const std::string& path) {
    std::error_code error;
    return fs::path(path).is_relative()
               ? fmt::format("'{}' is relative to the working directory, '{}'", path,
                             as_utf8(fs::current_path(error).string()))
               : std::string();
  }

  void check_exists(const StageDraft& stage, const ParameterInfo& parameter) {
    const std::string path = path_of(stage, parameter);
    if (path.empty()) return;
    std::error_code error;
    fs::path below;
    const auto& parameters = stage.runner->description().parameters;
    const auto folder = std::ranges::find(parameters, *parameter.exists_in, &ParameterInfo::name);
    if (folder != parameters.end()) {
      below = path_of(stage, *folder);
      if (!fs::exists(below, error)) return;  // the folder itself is reported
    }
    if (fs::exists(below / path, error)) return;
    warn(stage, parameter, "missing-file",
         fmt::format("there is no '{}'", as_utf8((below / path).string())),
         {below.empty() ? base_of(path) : std::string()});
  }

  void check_folder(const StageDraft& stage, const ParameterInfo& parameter) {
    const std::string path = path_of(stage, parameter);
    if (path.empty()) return;
    const std::vector<std::string>& entries = *parameter.folder_with;
    std::error_code error;
    const auto fault = fault_of(fs::absolute(path, error).lexically_normal(), entries);
    if (!fault) return;
    warn(stage, parameter, fault->code, fault->text,
         {entries.empty() ? std::string() : "such a folder contains " + list_of(entries),
          base_of(path),
          fmt::format("put the data there, or name its folder: --set stage.{}.{}=FOLDER",
                      set_by(stage, parameter.name).spec.name, parameter.name)});
  }

  const std::vector<StageDraft>& stages_;
  PipelineOf of_;
  Findings& findings_;
  std::set<std::string> from_the_start_;
  std::vector<std::string> needed_;
};

}  // namespace

std::vector<std::string> check_folders(const PipelineSpec& spec,
                                       const std::vector<StageDraft>& stages, PipelineOf of,
                                       Findings& findings) {
  const std::vector<std::string> scheduled = scheduled_flows(spec.schedule);
  const std::set<std::string> used = reached(spec, {scheduled.begin(), scheduled.end()});
  FolderCheck folders(spec, stages, of, findings);
  for (const StageDraft& stage : stages) {
    if (used.contains(stage.spec.name)) folders.check(stage);
  }
  return folders.take_needed();
}

}  // namespace seam::host
