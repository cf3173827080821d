/// Finds plugins, refuses those that do not fit, loads the ones that are asked for.
///
///     search path ──► files ──► manifest (read, not loaded) ──► fits? ──► listed or refused
///                                                                 └─ make("image.decode") loads it
///
/// Plugins stay loaded until the process ends, on purpose: code of theirs (deleters, type
/// information, LibTorch's registrations) may be needed until then.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plugins/manifest.hpp"
#include "seam/runner.hpp"

namespace seam::host {

/// A folder or file to search, and who named it: "--plugin-path", "SEAM_PLUGIN_PATH", ...
struct SearchEntry {
  std::filesystem::path path;
  std::string source;
};

/// One library that was found.
struct PluginFile {
  std::filesystem::path path;
  std::string source;  ///< of the search entry
  Manifest manifest;
  std::string refusal;  ///< empty: it may be loaded
};

class Registry {
 public:
  /// Reads the manifests of all libraries in the search path, in order. Never throws for a bad
  /// file: its reason is kept. `threads` is the budget that loaded libraries are told.
  Registry(std::vector<SearchEntry> search_path, int threads);

  [[nodiscard]] const std::vector<SearchEntry>& search_path() const { return search_path_; }
  [[nodiscard]] const std::vector<PluginFile>& files() const { return files_; }
  /// Names of all stages that could be made, sorted.
  [[nodiscard]] std::vector<std::string> stage_names() const;
  /// The file that offers a stage, or null.
  [[nodiscard]] const PluginFile* find(std::string_view stage) const;

  /// Makes a stage, loading its plugin first where needed. Throws seam::Error
  /// (Fault::configuration): for an unknown stage with the nearest names, every path searched and
  /// every file refused with its reason; for two plugins with one stage name, naming both files.
  [[nodiscard]] std::unique_ptr<StageRunner> make(const std::string& stage,
                                                  const std::string& instance);

 private:
  std::vector<SearchEntry> search_path_;
  int threads_;
  std::vector<PluginFile> files_;
};

/// The search path of a run, in order: the pipeline's `plugins`, --plugin-path, SEAM_PLUGIN_PATH
/// (colon-separated), the build's or installation's own folder (found from the program's place).
std::vector<SearchEntry> default_search_path(const std::vector<std::string>& from_pipeline,
                                             const std::vector<std::string>& from_command_line);

}  // namespace seam::host
