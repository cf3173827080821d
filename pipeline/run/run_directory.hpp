/// The run folder.
///
///     runs/sccapsnet-20260301-093000-1/
///       resolved.toml     the complete pipeline, after a head with version, plugins and data
///       metrics.jsonl     one line per value; bit-identical for the same run
///       timing.jsonl      one line per flow that ran: seconds, images, peaks
///       skipped.jsonl     one line per packet that failed and was skipped
///       score.json        the headline metrics
///       events.out.tfevents.*   for TensorBoard, if enabled; one file per process
///       run.log           messages, and the stage and backtrace of a crash
///       summary.json      how the run ended
///       checkpoints/      epoch-12.safetensors
///       reports/          reports of stages, Markdown
///       lock              locked while a process uses the folder
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
  std::string run;           ///< its folder, absolute; empty: none
  std::string checkpoint;    ///< "epoch-24.safetensors"
  std::string sha256 = {};   ///< of the checkpoint; may be empty
  std::string weights = {};  ///< how it was selected: "last", "best by ..."; may be empty

  friend bool operator==(const RunOrigin&, const RunOrigin&) = default;
};

/// "demo-20260301-093000-1/epoch-24.safetensors"; empty for none.
std::string to_text(const RunOrigin& origin);

/// The head of resolved.toml: how a run was started.
struct Launch {
  std::string version;            ///< of Seam
  std::string compiler;           ///< that built Seam
  std::string started;            ///< date and time, UTC
  std::string file;               ///< the pipeline file, absolute
  std::string working_directory;  ///< absolute
  std::vector<PluginUsed> plugins;
  std::map<std::string, std::string> data;     ///< data_files()
  std::map<std::string, std::string> initial;  ///< initial_files(); a resumed run needs none
  Roles roles;                                 ///< of its keys
  std::string shard;                           ///< "1/3"; empty: the whole run
  std::string numerics;                        ///< of a shard: "cpu in float32"
  RunOrigin from;
  RunOrigin evaluates;  ///< the run whose networks this one evaluates again
  /// TOML values that `evaluates` has for keys that differ in this run; empty: not set.
  std::map<std::string, std::string> trained_with;
  /// TOML values of this run for those keys that its user changed.
  std::map<std::string, std::string> evaluated_with;

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
/// Reads the head; missing keys stay empty. Throws seam::Error (configuration).
Launch parse_launch(const std::string& text, const std::string& file);
Launch read_launch(const std::filesystem::path& run_directory);

/// Creates a new folder runs/NAME-DATE-TIME-N and returns its absolute path.
std::filesystem::path make_numbered_folder(const std::string& name);

class RunDirectory {
 public:
  /// Creates and locks a new run folder: `requested`, or runs/NAME-DATE-TIME-N if it is empty.
  /// Throws seam::Error (configuration) if the folder is not empty or in use.
  static RunDirectory create(const std::filesystem::path& requested, const std::string& pipeline);
  /// Locks the folder of an earlier run. Throws seam::Error (configuration) if it is not a run
  /// folder.
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
