/// Finds plugins, refuses those that do not fit, loads the ones that are asked for.
///
///     search path ──► files ──► manifest (read, not loaded) ──► fits? ──► listed or refused
///                                                                 └─ make("image.decode") loads it
///
/// Plugins stay loaded until the process ends, on purpose: code of theirs (deleters, type
/// information, LibTorch's registrations) may be needed until then.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <seam/plugin.hpp>
#include <seam/runner.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plugins/description_cache.hpp"
#include "pipeline/plugins/manifest.hpp"

namespace seam::host {

/// A folder or file to search, and who named it: "--plugin-path", "SEAM_PLUGIN_PATH", ...
struct SearchEntry {
  std::filesystem::path path;
  std::string source;
  bool optional = false;  ///< its absence is no fault: the program's own folder
  int layer = 0;          ///< a stage found in one layer is not looked for in later ones

  friend bool operator==(const SearchEntry&, const SearchEntry&) = default;
};

/// One library that was found.
struct PluginFile {
  std::filesystem::path path;  ///< absolute
  std::string source;          ///< of the search entry
  Manifest manifest;
  std::string refusal;  ///< empty: it may be loaded
  int layer = 0;        ///< of the search entry
};

/// PluginDescriptor::devices.
using DeviceList = std::vector<std::string> (*)();

class Registry {
 public:
  /// Reads the manifests of all libraries in the search path, in order; of a folder, the files
  /// *.so in alphabetical order. A file that several entries reach counts once. Never throws for
  /// a bad file: its reason is kept. In a folder, libraries that are no plugins are passed over.
  /// `threads` is the budget that loaded libraries are told.
  Registry(std::vector<SearchEntry> search_path, int threads);

  [[nodiscard]] const std::vector<SearchEntry>& search_path() const { return search_path_; }
  [[nodiscard]] const std::vector<PluginFile>& files() const { return files_; }
  /// Names of all stages that could be made, sorted.
  [[nodiscard]] std::vector<std::string> stage_names() const;
  /// The first file that offers a stage and fits, or null.
  [[nodiscard]] const PluginFile* find(std::string_view stage) const;
  /// All of the first layer that has any: more than one is an error for whoever wants the stage.
  [[nodiscard]] std::vector<const PluginFile*> find_all(std::string_view stage) const;
  /// The files whose code is loaded, in the order of loading.
  [[nodiscard]] std::vector<const PluginFile*> loaded() const;

  /// What the LibTorch of the loaded plugins can compute on; null where none of them has LibTorch.
  /// The call may start the driver of a GPU.
  [[nodiscard]] DeviceList devices() const;

  /// Why the file cannot be used in one process with those before it, or nothing.
  [[nodiscard]] std::string conflict(const PluginFile& file) const;
  /// Loads a plugin without making a stage. Throws as make does; ends the process where a static
  /// initialiser of the plugin throws, after saying so.
  void try_loading(const PluginFile& file);

  /// Makes a stage, loading its plugin first where needed. Throws seam::Error
  /// (Fault::configuration): for an unknown stage with the nearest names, every path searched and
  /// every file refused with its reason, a line each; for two plugins with one stage name, naming
  /// both files; for a plugin that cannot be loaded, with the dynamic loader's own words.
  [[nodiscard]] std::unique_ptr<StageRunner> make(const std::string& stage,
                                                  const std::string& instance);
  /// The same for who only asks what the stage says of itself: its plugin is loaded only where that
  /// is not known from before; without a cache always. Throws as make does, except that an unloaded
  /// plugin's faults of loading do not show.
  [[nodiscard]] std::unique_ptr<StageRunner> describe(const std::string& stage,
                                                      const std::string& instance,
                                                      DescriptionCache* cache);

 private:
  struct Loaded {
    std::size_t file;                    ///< position in files_
    const PluginDescriptor* descriptor;  ///< in the library, which is never unloaded
  };

  void search(const SearchEntry& entry);
  void add(const std::filesystem::path& path, const SearchEntry& entry, bool named_itself);
  [[nodiscard]] std::string not_found(const std::string& stage) const;
  [[nodiscard]] const PluginFile& only_file(const std::string& stage) const;
  void check_conflicts(const PluginFile& file) const;
  const PluginDescriptor& load(const PluginFile& file);

  std::vector<SearchEntry> search_path_;
  int threads_;
  std::vector<PluginFile> files_;
  std::vector<std::filesystem::path> seen_;  ///< canonical
  std::vector<Loaded> loaded_;
  std::map<std::size_t, std::string>
      failed_;                          ///< by position in files_: why it could not be loaded
  std::vector<std::size_t> described_;  ///< positions in files_: would be loaded in a run
};

/// The folder that holds bin/seam, lib/ and share/, of a build or an installation; empty where the
/// system does not say which program runs.
std::filesystem::path own_prefix();

/// What the pipeline's `plugins` and --plugin-path name, in this order.
std::vector<SearchEntry> named_search_path(const std::vector<std::string>& from_pipeline,
                                           const std::vector<std::string>& from_command_line);

/// The search path of a run: the above, then SEAM_PLUGIN_PATH (colon-separated), then the build's
/// or installation's own folder: <folder of the program>/../lib/seam/plugins.
std::vector<SearchEntry> default_search_path(const std::vector<std::string>& from_pipeline,
                                             const std::vector<std::string>& from_command_line);

/// The search path of a run that goes on: --plugin-path, then the plugins that it used, then all
/// else of `usual`, a layer each.
std::vector<SearchEntry> resumed_search_path(const std::vector<std::filesystem::path>& recorded,
                                             std::vector<SearchEntry> usual);

}  // namespace seam::host
