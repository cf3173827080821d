/// The folder that a run leaves.
///
///     runs/sccapsnet-20260301-093000-1/
///       resolved.toml     the pipeline, complete, headed by what it was run with
///       metrics.jsonl     a line a number; the same bytes for the same run
///       timing.jsonl      a line a flow that ran: seconds, images, peaks
///       skipped.jsonl     a line a packet that failed and was skipped
///       score.json        the metrics by which the run is judged
///       events.out.tfevents.*   for TensorBoard, where it is asked for: one a process
///       run.log           what was said
///       summary.json      how it ended
///       checkpoints/      epoch-12.safetensors
///       reports/          what stages reported, Markdown
///       crash.txt         which stage a process crashed in, if one did
///       lock              held while a process works on the folder
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/files.hpp"

namespace seam::host {

/// A plugin's file as it was when the run started.
struct PluginUsed {
  std::string path;
  std::string sha256;
  std::string libtorch;
  std::string opencv;

  friend bool operator==(const PluginUsed&, const PluginUsed&) = default;
};

/// A checkpoint of another run.
struct RunOrigin {
  std::string run;         ///< its folder, absolute; empty: none
  std::string checkpoint;  ///< "epoch-24.safetensors"

  friend bool operator==(const RunOrigin&, const RunOrigin&) = default;
};

/// "demo-20260301-093000-1/epoch-24.safetensors"; empty for none.
std::string to_text(const RunOrigin& origin);

/// What a run was started with; the head of resolved.toml.
struct Launch {
  std::string version;            ///< of Seam
  std::string compiler;           ///< that built it
  std::string started;            ///< date and time, UTC
  std::string file;               ///< the pipeline file, absolute
  std::string working_directory;  ///< absolute
  std::vector<PluginUsed> plugins;
  std::map<std::string, std::string> data;  ///< data_files()
  RunOrigin from;
  RunOrigin evaluates;  ///< the run whose networks this one measures again
  /// Of that run: the values, as TOML writes them, of keys that this one has otherwise because it
  /// only evaluates; empty: not set.
  std::map<std::string, std::string> trained_with;

  friend bool operator==(const Launch&, const Launch&) = default;
};

/// This program's version, "0.1.0".
std::string seam_version();

/// The launch of a run that starts now; hashes the plugins.
Launch make_launch(const PipelineSpec& spec, const std::vector<PluginFile>& plugins);

/// resolved.toml: the launch as comment lines "#: key = value", then the pipeline.
std::string headed_text(const Launch& launch, const std::string& pipeline);
/// The pipeline in such a text.
std::string pipeline_below_head(const std::string& text);
/// Reads the head back; keys that are not there stay empty. Throws seam::Error (configuration).
Launch parse_launch(const std::string& text, const std::string& file);
Launch read_launch(const std::filesystem::path& run_directory);

/// Makes runs/NAME-DATE-TIME-N, which did not exist; its absolute path.
std::filesystem::path make_numbered_folder(const std::string& name);

class RunDirectory {
 public:
  /// Makes and locks a new one. `requested` may be empty: runs/NAME-DATE-TIME-N is made then.
  /// Throws seam::Error (configuration) where the folder holds something already or is in use.
  static RunDirectory create(const std::filesystem::path& requested, const std::string& pipeline);
  /// Locks the folder of an earlier run. Throws seam::Error (configuration) where it is none.
  static RunDirectory reopen(const std::filesystem::path& path);

  /// Absolute.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path resolved() const { return path_ / "resolved.toml"; }
  [[nodiscard]] std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  [[nodiscard]] std::filesystem::path timing() const { return path_ / "timing.jsonl"; }
  [[nodiscard]] std::filesystem::path skipped() const { return path_ / "skipped.jsonl"; }
  [[nodiscard]] std::filesystem::path score() const { return path_ / "score.json"; }
  [[nodiscard]] std::filesystem::path log() const { return path_ / "run.log"; }
  [[nodiscard]] std::filesystem::path summary() const { return path_ / "summary.json"; }
  [[nodiscard]] std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  [[nodiscard]] std::filesystem::path reports() const { return path_ / "reports"; }

 private:
  explicit RunDirectory(const std::filesystem::path& path) : path_(path), lock_(path) {}

  std::filesystem::path path_;
  FolderLock lock_;
};

}  // namespace seam::host
