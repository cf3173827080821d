/// What stages said of themselves, kept between runs of the program: `seam check` and, of stages
/// without a network, `seam inspect` answer at once, without loading LibTorch or OpenCV.
///
///     plugin file, unchanged ──► its record ──► a stage that only declares ──► StageRunner
///     new or changed         ──► loaded, asked, recorded
///
/// A record belongs to a path, a size and a time of change, and to this version of the SDK. What a
/// stage declares may depend on its parameters; so each set of values that was asked for has a
/// record of its own, and an unknown one means that the plugin must be loaded.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/plugins/manifest.hpp"
#include "seam/runner.hpp"

namespace seam::host {

class DescriptionCache {
 public:
  using Values = std::map<std::string, Value>;

  /// Keeps its files in `folder`, which is made when there is something to keep.
  explicit DescriptionCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// A stage that declares what the plugin's stage of this name did, with these values as with its
  /// defaults, and can do nothing else; null where that is not known.
  [[nodiscard]] std::unique_ptr<Stage> recorded(const std::filesystem::path& plugin,
                                                const std::string& stage);
  /// Whether a recorded stage may be configured with these values.
  [[nodiscard]] bool knows(const std::filesystem::path& plugin, const std::string& stage,
                           const Values& values);
  /// Records what a stage, made and not yet configured, says.
  void record(const std::filesystem::path& plugin, const StageRunner& stage);
  /// Records what it says after configure(values).
  void record_configured(const std::filesystem::path& plugin, const StageRunner& stage,
                         const Values& values);

  /// Writes what is new. A cache that cannot be written is no fault: the next run asks again.
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

/// The user's: in $XDG_CACHE_HOME/seam or ~/.cache/seam; null where neither is known.
std::unique_ptr<DescriptionCache> user_descriptions();

}  // namespace seam::host
