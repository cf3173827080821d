#include "pipeline/experiments/run_folder.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "pipeline/config/document.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/crash_report.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/recorder.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/text/json.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

std::int64_t integer_parameter(const Parameters& parameters, std::string_view key) {
  const auto found = parameters.find(key);
  if (found == parameters.end()) return 0;
  std::int64_t value = 0;
  std::istringstream(found->second) >> value;
  return value;
}

/// Epochs that a resume would not repeat, or that were completed since.
std::int64_t epochs_of_files(const fs::path& folder) {
  const std::vector<fs::path> checkpoints = CheckpointFolder(folder / "checkpoints").files();
  const std::int64_t saved =
      checkpoints.empty() ? 0 : checkpoint_name(checkpoints.front().filename().string())->epochs;
  return std::max(saved, epochs_timed(folder / "timing.jsonl"));
}

void read_summary(const fs::path& file, RunFolder& run) {
  try {
    const Json json = parse_json(read_text_file(file));
    if (json.value("outcome", "") == crashed_outcome) {
      run.state = RunState::failed;
      run.note = "crashed: " + json.at("error").get<std::string>();
      run.epochs_done = std::min(epochs_of_files(file.parent_path()), run.epochs);
      return;
    }
    const auto code = static_cast<ExitCode>(json.at("exit_code").get<int>());
    const bool complete = json.at("complete").get<bool>();
    run.epochs_done = json.at("epochs_done").get<std::int64_t>();
    run.epochs = json.at("epochs").get<std::int64_t>();
    // --resume --precision changes it for the rest of the run.
    const auto precision = run.parameters.find("pipeline.precision");
    const std::string last = json.value("precision", std::string());
    const bool evaluates = run.parameters.contains(evaluates_key);
    if (precision != run.parameters.end() && !last.empty() && !evaluates) {
      precision->second = '"' + last + '"';
    }
    run.skipped_packets = json.value("skipped_packets", run.skipped_packets);
    if (json.contains("listings")) run.listings = listings_from(json_line(json.at("listings")));
    if (code == ExitCode::success && complete) {
      run.state = RunState::complete;
    } else if (code == ExitCode::cancelled) {
      run.state = RunState::stopped;
    } else {
      run.state = RunState::failed;
      run.note = json.at("error").get<std::string>();
      if (run.note.empty()) run.note = json.at("outcome").get<std::string>();
    }
  } catch (const Json::exception& error) {
    throw Error("'" + file.string() + "' is not the summary of a run: " + error.what());
  }
  run.flows = read_flows(file);
}

}  // namespace

std::string state_text(RunState state) {
  // In the order of the enumeration.
  static constexpr std::array texts{"not started", "running", "complete",
                                    "stopped",     "failed",  "interrupted"};
  return texts.at(static_cast<std::size_t>(state));
}

Parameters read_parameters(const fs::path& resolved) {
  return parameters_of(read_text_file(resolved), resolved.string());
}

std::string text_parameter(const Parameters& parameters, std::string_view key) {
  const auto found = parameters.find(key);
  if (found == parameters.end()) return {};
  const Node node = read_set_value(found->second, {"", 0, 0, 1});
  return node.text() != nullptr ? *node.text() : std::string();
}

bool is_run_folder(const fs::path& folder) {
  return fs::is_regular_file(folder / "resolved.toml");
}

RunFolder read_run(const fs::path& folder, const std::string& name) {
  RunFolder run;
  run.path = fs::absolute(folder).lexically_normal();
  run.name = name;
  const std::optional<std::string> holder =
      fs::is_directory(folder) ? FolderLock::holder(folder) : std::nullopt;
  if (is_run_folder(folder)) {
    const Launch launch = read_launch(folder);
    run.started = launch.started;
    run.pipeline = launch.file;
    run.roles = launch.roles;
    run.parameters = read_parameters(folder / "resolved.toml");
    constexpr std::size_t digits = 12;  // of a hash, for display
    const auto note_content = [&run](std::string_view key, const std::string& hash) {
      run.parameters[std::string(key) + std::string(content_suffix)] = hash.substr(0, digits);
    };
    for (const auto& [key, hash] : launch.data) note_content(key, hash);
    for (const auto& [key, hash] : launch.initial) note_content(key, hash);
    if (const std::string from = to_text(launch.from); !from.empty()) {
      run.parameters[std::string(from_key)] = from;
      if (!launch.from.sha256.empty()) note_content(from_key, launch.from.sha256);
    }
    run.epochs = integer_parameter(run.parameters, "schedule.epochs");
    if (const std::string evaluates = to_text(launch.evaluates); !evaluates.empty()) {
      run.parameters[std::string(evaluates_key)] = evaluates;
      run.weights = launch.evaluates.weights;
    }
    run.evaluated_with.insert(launch.evaluated_with.begin(), launch.evaluated_with.end());
    for (const auto& [key, value] : launch.trained_with) {
      if (value.empty()) {
        run.parameters.erase(key);
      } else {
        run.parameters[key] = value;
      }
    }
    run.state = RunState::interrupted;
    const fs::path summary = folder / "summary.json";
    if (fs::exists(summary) && !holder) {
      read_summary(summary, run);
    } else {
      run.epochs_done = std::min(epochs_of_files(folder), run.epochs);
    }
  }
  if (holder) {
    run.state = RunState::running;
    run.note = holder->empty() ? std::string() : "process " + *holder;
  }
  return run;
}

}  // namespace seam::host
