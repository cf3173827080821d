#include "pipeline/run/data_files.hpp"

#include <set>
#include <system_error>
#include <utility>

#include "pipeline/run/checksum.hpp"
#include "pipeline/run/run_stages.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/text/lists.hpp"
#include "sdk/src/weights_metadata.hpp"

namespace seam::host {
namespace fs = std::filesystem;

std::string text_value(const StageSpec& stage, const std::string& parameter) {
  const auto found = stage.values.find(parameter);
  const auto* const text =
      found == stage.values.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

std::optional<fs::path> file_of(const StageSpec& stage, const ParameterInfo& parameter) {
  if (parameter.kind != ValueKind::path) return std::nullopt;
  std::string text = text_value(stage, parameter.name);
  if (text.empty() && parameter.default_value && !stage.values.contains(parameter.name)) {
    const auto* const given = std::get_if<std::string>(&*parameter.default_value);
    if (given != nullptr) text = *given;
  }
  if (text.empty()) return std::nullopt;
  const std::string folder = text_value(stage, parameter.exists_in.value_or(""));
  fs::path path = fs::path(folder) / text;
  std::error_code error;
  return fs::is_regular_file(path, error) ? std::optional(std::move(path)) : std::nullopt;
}

namespace {

/// Calls `visit` for each parameter of the stages in scheduled flows.
template <class Visit>
void for_each_parameter(const CheckedPipeline& pipeline, const Visit& visit) {
  std::set<std::string> scheduled;
  for (const std::string& flow : scheduled_flows(pipeline.spec.schedule)) {
    for (const FlowNode& node : flow_named(pipeline.spec, flow).nodes) scheduled.insert(node.stage);
  }
  for (const StageSpec& stage : pipeline.spec.stages) {
    if (!scheduled.contains(stage.name)) continue;
    const StageRunner& runner = *pipeline.stages.at(stage.name);
    for (const ParameterInfo& one : runner.description().parameters) visit(stage, runner, one);
  }
}

std::string key_of(const StageSpec& stage, const ParameterInfo& parameter) {
  return "stage." + stage.name + "." + parameter.name;
}

}  // namespace

std::map<std::string, std::string> data_files(const CheckedPipeline& pipeline) {
  std::map<std::string, std::string> files;
  for_each_parameter(pipeline, [&](const StageSpec& stage, const StageRunner& runner,
                                   const ParameterInfo& parameter) {
    const bool read = runner.kind() == StageKind::source || parameter.exists_in.has_value();
    if (!read || parameter.initial) return;
    if (const auto file = file_of(stage, parameter)) {
      files[key_of(stage, parameter)] = sha256_of_file(*file);
    }
  });
  return files;
}

std::map<std::string, std::string> initial_files(const CheckedPipeline& pipeline, Lost lost) {
  std::map<std::string, std::string> files;
  for_each_parameter(pipeline, [&](const StageSpec& stage, const StageRunner& /*runner*/,
                                   const ParameterInfo& parameter) {
    if (!parameter.initial || parameter.kind != ValueKind::path) return;
    const fs::path given = text_value(stage, parameter.name);
    if (given.empty()) return;
    std::optional<fs::path> file = file_of(stage, parameter);
    try {
      if (!file && fs::exists(given / "resolved.toml")) file = weights_file(given).path;
    } catch (const Error&) {  // a run without its checkpoints
      if (lost == Lost::refused) throw;
    }
    if (file) files[key_of(stage, parameter)] = sha256_of_file(*file);
  });
  return files;
}

std::vector<WrittenElsewhere> written_elsewhere(const CheckedPipeline& pipeline) {
  std::vector<WrittenElsewhere> written;
  const std::vector<std::string> opened = opening_order(pipeline.spec);
  for (const StageSpec& stage : pipeline.spec.stages) {
    if (!contains(opened, stage.name)) continue;
    for (const ParameterInfo& parameter :
         pipeline.stages.at(stage.name)->description().parameters) {
      if (parameter.kind != ValueKind::path || parameter.folder_with || parameter.exists_in ||
          parameter.initial) {
        continue;
      }
      std::string path = text_value(stage, parameter.name);
      const fs::path normal = fs::path(path).lexically_normal();
      if (normal.empty() || (normal.is_relative() && *normal.begin() != "..")) continue;
      written.push_back({stage.name, key_of(stage, parameter), std::move(path)});
    }
  }
  return written;
}

}  // namespace seam::host
