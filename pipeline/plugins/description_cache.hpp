/// Cached stage descriptions, kept between runs of the program. With them, `seam check` (and `seam
/// inspect` for stages without a network) needs no time to load LibTorch or OpenCV.
///
///     plugin file, unchanged ──► its record ──► a stage that only declares ──► StageRunner
///     new or changed         ──► loaded, described, recorded
///
/// A record is valid for a path, a size, a modification time and this version of the SDK. A stage's
/// declaration may depend on its parameters, so each requested set of values has its own record,
/// and the plugin is loaded for an unknown set.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "pipeline/plugins/manifest.hpp"
#include "seam/runner.hpp"

namespace seam::host {

class DescriptionCache {
 public:
  using Values = std::map<std::string, Value>;

  /// Keeps its files in `folder`, which is created when the first one is written.
  explicit DescriptionCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// A stage that has the declaration of the plugin's stage with this name, for the defaults and
  /// for these values, and can do nothing else; null if that is unknown.
  [[nodiscard]] std::unique_ptr<Stage> recorded(const std::filesystem::path& plugin,
                                                const std::string& stage);
  /// Whether a recorded stage may be configured with these values.
  [[nodiscard]] bool knows(const std::filesystem::path& plugin, const std::string& stage,
                           const Values& values);
  /// Records the declaration of a stage that was created but not yet configured.
  void record(const std::filesystem::path& plugin, const StageRunner& stage);
  /// Records its declaration after configure(values).
  void record_configured(const std::filesystem::path& plugin, const StageRunner& stage,
                         const Values& values);

  /// Writes new records. If that fails, there is no error: the next run loads the plugin again.
  void save();

  struct StageRecord {
    StageKind kind = StageKind::transform;
    bool on_compute_thread = false;
    Description description;                       ///< without functions
    std::map<std::string, Configured> configured;  ///< by the text of the values
  };

 private:
  struct PluginRecord {
    std::string identity;
    std::map<std::string, std::shared_ptr<StageRecord>> stages;
    bool changed = false;
  };

  PluginRecord& of(const std::filesystem::path& plugin);
  [[nodiscard]] std::filesystem::path file_of(const std::filesystem::path& plugin) const;

  std::filesystem::path folder_;
  std::map<std::filesystem::path, PluginRecord> plugins_;
};

/// The user's cache, in $XDG_CACHE_HOME/seam or ~/.cache/seam; null if neither is known.
std::unique_ptr<DescriptionCache> user_descriptions();

}  // namespace seam::host
