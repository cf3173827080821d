/// Finds plugins, rejects incompatible ones and loads those that are needed.
///
///     search path ──► files ──► manifest (read, not loaded) ──► fits? ──► listed or rejected
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

/// A folder or file to search, and its source: "--plugin-path", "SEAM_PLUGIN_PATH", ...
struct SearchEntry {
  std::filesystem::path path;
  std::string source;
  bool optional = false;  ///< it may be missing: the program's own folder
  int layer = 0;          ///< a stage found in one layer is not searched in later ones

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
  /// *.so in alphabetical order. A file that several entries reach counts once. Never throws
  /// because of a bad file: the reason is stored. In a folder, libraries that are not plugins are
  /// ignored. `threads` is the thread limit passed to loaded libraries.
  Registry(std::vector<SearchEntry> search_path, int threads);

  [[nodiscard]] const std::vector<SearchEntry>& search_path() const { return search_path_; }
  [[nodiscard]] const std::vector<PluginFile>& files() const { return files_; }
  /// Names of all available stages, sorted.
  [[nodiscard]] std::vector<std::string> stage_names() const;
  /// The first compatible file that provides a stage, or null.
  [[nodiscard]] const PluginFile* find(std::string_view stage) const;
  /// All such files of the first layer that has any: with more than one, the stage cannot be
  /// created.
  [[nodiscard]] std::vector<const PluginFile*> find_all(std::string_view stage) const;
  /// The files whose code is loaded, in the order of loading.
  [[nodiscard]] std::vector<const PluginFile*> loaded() const;

  /// The devices of the loaded plugins' LibTorch; null if none of them uses LibTorch. The call may
  /// start the driver of a GPU.
  [[nodiscard]] DeviceList devices() const;

  /// Why the file cannot be used in one process with the files before it; empty if it can.
  [[nodiscard]] std::string conflict(const PluginFile& file) const;
  /// Loads a plugin without creating a stage. Throws like make(). If a static initialiser of the
  /// plugin throws, prints an error and ends the process.
  void try_loading(const PluginFile& file);

  /// Creates a stage, after loading its plugin if necessary. Throws seam::Error
  /// (Fault::configuration): for an unknown stage with the nearest names, every path searched and
  /// every rejected file with its reason, one per line; for two plugins with one stage name, naming
  /// both files; for a plugin that cannot be loaded, with the dynamic loader's message.
  [[nodiscard]] std::unique_ptr<StageRunner> make(const std::string& stage,
                                                  const std::string& instance);
  /// The same for callers that only need the declaration: the plugin is loaded only if its
  /// description is not cached; without a cache, always. Throws like make(), except that errors in
  /// loading an unloaded plugin are not found.
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

/// The folder with bin/seam, lib/ and share/ of a build or an installation; empty if the path of
/// the running program is unknown.
std::filesystem::path own_prefix();

/// The entries of the pipeline's `plugins` and --plugin-path, in this order.
std::vector<SearchEntry> named_search_path(const std::vector<std::string>& from_pipeline,
                                           const std::vector<std::string>& from_command_line);

/// The search path of a run: the above, then SEAM_PLUGIN_PATH (colon-separated), then the build's
/// or installation's own folder: <folder of the program>/../lib/seam/plugins.
std::vector<SearchEntry> default_search_path(const std::vector<std::string>& from_pipeline,
                                             const std::vector<std::string>& from_command_line);

/// The search path of a resumed run: --plugin-path, then the plugins that it used, then the rest of
/// `usual`, in one layer each.
std::vector<SearchEntry> resumed_search_path(const std::vector<std::filesystem::path>& recorded,
                                             std::vector<SearchEntry> usual);

}  // namespace seam::host
