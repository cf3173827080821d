// Resolves `weights = ...`: a file, or a run folder with a checkpoint.

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "checkpoint_format.hpp"
#include "seam/error.hpp"
#include "seam/safetensors.hpp"
#include "weights_metadata.hpp"

namespace seam {
namespace fs = std::filesystem;
namespace format = checkpoint_format;
namespace {

using Entries = std::map<std::string, Archive::Entry>;

Error configuration(const std::string& what) {
  return Error(what, Fault::configuration);
}

struct File {
  fs::path path;
  Safetensors content;
  std::map<std::string, std::string> newest = {};  // metadata of the run's newest checkpoint
};

/// Throws seam::Error if the newest checkpoint is a copy under another name, or not the last one of
/// a run that is complete: a file may be missing from a copied folder.
void refuse_gaps(const fs::path& run, const host::CheckpointName& name, const File& newest) {
  const std::string file = newest.path.filename().string();
  const auto epochs = newest.content.metadata.find(format::epochs_key);
  if (epochs != newest.content.metadata.end() && epochs->second != std::to_string(name.epochs)) {
    throw configuration("'" + file + "' of run '" + run.string() + "' was written after epoch " +
                        epochs->second +
                        ": it was renamed or copied; remove it from the folder, or pass the file "
                        "to use");
  }
  const host::EndedRun ended = host::ended_run(run / "summary.json");
  if (!ended.complete || ended.epochs_done <= name.epochs) return;
  throw configuration("run '" + run.string() + "' has completed " +
                      std::to_string(ended.epochs_done) +
                      " epochs, but its newest checkpoint is '" + file +
                      "': the last one is missing; restore it, or pass the file to use, such as '" +
                      newest.path.string() + "'");
}

/// The best checkpoint of a run, or the newest one.
File checkpoint_of(const fs::path& run) {
  const fs::path folder = run / "checkpoints";
  std::optional<std::pair<host::CheckpointName, fs::path>> newest;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = host::checkpoint_name(entry->path().filename().string());
    if (!name || name->is_within_epoch()) continue;
    if (!newest || newest->first < *name) newest = {*name, entry->path()};
  }
  if (error) {
    throw configuration(
        "'" + run.string() + "' is a folder, but not a run folder with checkpoints ('" +
        folder.string() + "': " + error.message() + "); pass a safetensors file or a run folder");
  }
  if (!newest) throw configuration("run '" + run.string() + "' has no checkpoint yet");
  File file{newest->second, read_safetensors(newest->second)};
  refuse_gaps(run, newest->first, file);
  const auto trainings = file.content.metadata.find(format::trainings_key);
  const bool is_untrained = newest->first == host::CheckpointName{} &&
                            trainings != file.content.metadata.end() && trainings->second == "0";
  if (is_untrained) {
    throw configuration("run '" + run.string() + "' has not completed an epoch: its checkpoint '" +
                        file.path.filename().string() +
                        "' has the initial weights; wait for an epoch, or pass the file to use");
  }
  const auto best = file.content.metadata.find(format::best_key);
  file.newest = file.content.metadata;
  if (best == file.content.metadata.end() || best->second == file.path.filename()) return file;
  // Only a file name in this folder: a checkpoint must not refer to other folders.
  const fs::path better = folder / fs::path(best->second).filename();
  if (!fs::exists(better, error)) {
    throw configuration("the best checkpoint of run '" + run.string() + "', '" + better.string() +
                        "', does not exist; pass the file to use, such as '" + file.path.string() +
                        "'");
  }
  return {better, read_safetensors(better), std::move(file.newest)};
}

/// The file that the path refers to.
File file_of(const fs::path& file_or_run) {
  std::error_code error;
  if (!fs::exists(file_or_run, error)) {
    throw configuration(
        "'" + file_or_run.string() +
        "' does not exist; weights are loaded from a safetensors file or a run folder");
  }
  if (fs::is_directory(file_or_run, error)) return checkpoint_of(file_or_run);
  return {file_or_run, read_safetensors(file_or_run)};
}

/// "adam, model"
std::string stages_of(const Safetensors& checkpoint) {
  std::string names;
  const auto found = checkpoint.metadata.find(format::stages_key);
  if (found == checkpoint.metadata.end()) return names;
  const auto stages = nlohmann::json::parse(found->second, nullptr, false);
  if (!stages.is_array()) return names;
  for (const auto& stage : stages) {
    if (!stage.is_array() || stage.empty() || !stage[0].is_string()) continue;
    names += (names.empty() ? "" : ", ") + stage[0].get<std::string>();
  }
  return names;
}

}  // namespace

std::map<std::string, Archive::Entry> read_weights(const fs::path& file_or_run,
                                                   const std::string& stage) {
  File file = file_of(file_or_run);
  const std::string prefix = stage + "/";
  Entries own;
  for (auto at = file.content.tensors.lower_bound(prefix);
       at != file.content.tensors.end() && at->first.starts_with(prefix); ++at) {
    own.emplace(at->first.substr(prefix.size()), std::move(at->second));
  }
  if (!own.empty()) return own;
  if (file.content.metadata.contains(format::version_key)) {
    const std::string names = stages_of(file.content);
    throw configuration("checkpoint '" + file.path.string() + "' has no weights for a stage '" +
                        stage + "'; its stages are " + (names.empty() ? "none" : names));
  }
  if (file.content.tensors.empty()) {
    throw configuration("'" + file.path.string() + "' has no tensors");
  }
  return std::move(file.content.tensors);
}

host::WeightsFile host::weights_file(const fs::path& file_or_run) {
  File file = file_of(file_or_run);
  WeightsFile weights{std::move(file.path), std::move(file.content.metadata), {}};
  weights.chooser = file.newest.empty() ? weights.metadata : std::move(file.newest);
  return weights;
}

host::EndedRun host::ended_run(const fs::path& summary) {
  std::ifstream stream(summary);
  const auto json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  EndedRun run;
  if (!json.is_object()) return run;
  run.complete = json.value("complete", nlohmann::json()) == true;
  const auto epochs = json.value("epochs_done", nlohmann::json());
  if (epochs.is_number_integer()) run.epochs_done = epochs.get<std::int64_t>();
  return run;
}

}  // namespace seam
