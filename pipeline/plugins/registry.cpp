#include "pipeline/plugins/registry.hpp"

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <seam/error.hpp>
#include <system_error>
#include <utility>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

Error rejected(const std::string& message) {
  return Error(message, Fault::configuration);
}

/// The dynamic loader's message without the text that Boost adds.
std::string loader_text(const std::string& what) {
  constexpr std::string_view before = "(dlerror system message: ";
  const std::size_t from = what.find(before);
  const std::size_t to = what.rfind(')');
  if (from == std::string::npos || to == std::string::npos || to < from) return what;
  return what.substr(from + before.size(), to - from - before.size());
}

/// Suggests what to do about the loader's error.
std::string loader_remedy(const std::string& text) {
  if (text.find("undefined symbol") != std::string::npos) {
    return "link the plugin with every library it uses (seam_add_plugin(... LINK ...)), or rebuild "
           "it against the installed versions";
  }
  if (text.find("cannot open shared object file") != std::string::npos) {
    return "install that library, or add its folder to the plugin's RUNPATH or to LD_LIBRARY_PATH";
  }
  return "rebuild the plugin on this machine";
}

std::string initialiser_threw(const std::string& plugin, const std::string& what) {
  return "plugin '" + plugin + "' cannot be loaded: one of its static initialisers threw: " + what +
         "; move code that can fail to a stage's open()";
}

constexpr const char* command_line = "--plugin-path";
constexpr const char* no_exception = "an exception that is not a std::exception";

/// The dynamic loader is C code, so an exception from a static initialiser may not propagate
/// through it and may terminate the process instead. Then at least its last words say why.
class WhileLoading {
 public:
  explicit WhileLoading(const fs::path& plugin) : before_(std::set_terminate(&ended)) {
    loading = plugin.c_str();
  }
  ~WhileLoading() { std::set_terminate(before_); }
  WhileLoading& operator=(WhileLoading&&) = delete;  // not copyable

 private:
  [[noreturn]] static void ended() {
    std::string what = no_exception;
    try {
      if (std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) {  // reported above
    }
    std::fprintf(stderr, "seam: error: %s\n", initialiser_threw(loading, what).c_str());
    std::_Exit(configuration_error);  // nothing has been started that would have to be stopped
  }

  static constexpr int configuration_error = 2;  // docs/exit-codes.md
  // Terminate handlers are called without arguments. One thread loads plugins.
  inline static const char* loading = "";
  std::terminate_handler before_;
};

fs::path absolute_path(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal();
}

}  // namespace

Registry::Registry(std::vector<SearchEntry> search_path, int threads)
    : search_path_(std::move(search_path)), threads_(threads) {
  for (const SearchEntry& entry : search_path_) search(entry);
}

void Registry::search(const SearchEntry& entry) {
  std::error_code error;
  if (!fs::is_directory(entry.path, error)) {
    if (!entry.optional || fs::exists(entry.path, error)) add(entry.path, entry, true);
    return;
  }
  std::vector<fs::path> libraries;
  fs::directory_iterator iterator(entry.path, error);
  if (error) {
    files_.push_back({absolute_path(entry.path),
                      entry.source,
                      {},
                      "the folder cannot be read: " + error.message(),
                      entry.layer});
    return;
  }
  for (; !error && iterator != fs::directory_iterator{}; iterator.increment(error)) {
    if (iterator->path().extension() == ".so") libraries.push_back(iterator->path());
  }
  std::sort(libraries.begin(), libraries.end());
  for (const fs::path& library : libraries) add(library, entry, false);
}

void Registry::add(const fs::path& path, const SearchEntry& entry, bool named_itself) {
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  if (!error) {
    if (contains(seen_, canonical)) return;
    seen_.push_back(canonical);
  }
  ManifestReading reading = read_manifest(path);
  if (reading.other_library) {
    if (!named_itself) return;
    reading.refusal =
        "it is a shared library but not a Seam plugin: it has no '.seam_manifest' section, which "
        "SEAM_PLUGIN(...) creates";
  }
  PluginFile file{absolute_path(path), entry.source, std::move(reading.manifest),
                  std::move(reading.refusal), entry.layer};
  if (file.refusal.empty()) file.refusal = mismatch(file.manifest, host_manifest());
  files_.push_back(std::move(file));
}

std::string Registry::conflict(const PluginFile& file) const {
  for (const PluginFile& other : files_) {
    if (&other == &file) break;
    if (!other.refusal.empty()) continue;
    std::string conflict = library_conflict(file.manifest, file.path, other.manifest, other.path);
    if (!conflict.empty()) return conflict;
  }
  return {};
}

void Registry::try_loading(const PluginFile& file) {
  (void)load(file);
}

std::vector<std::string> Registry::stage_names() const {
  std::vector<std::string> names;
  for (const PluginFile& file : files_) {
    if (!file.refusal.empty()) continue;
    names.insert(names.end(), file.manifest.stages.begin(), file.manifest.stages.end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<const PluginFile*> Registry::find_all(std::string_view stage) const {
  std::vector<const PluginFile*> found;
  for (const PluginFile& file : files_) {
    if (file.refusal.empty() && contains(file.manifest.stages, stage)) found.push_back(&file);
  }
  const auto first = std::ranges::min_element(found, {}, &PluginFile::layer);
  if (first != found.end()) {
    std::erase_if(
        found, [layer = (*first)->layer](const PluginFile* file) { return file->layer != layer; });
  }
  return found;
}

const PluginFile* Registry::find(std::string_view stage) const {
  const std::vector<const PluginFile*> found = find_all(stage);
  return found.empty() ? nullptr : found.front();
}

std::vector<const PluginFile*> Registry::loaded() const {
  return mapped(loaded_, [this](const Loaded& library) { return &files_[library.file]; });
}

DeviceList Registry::devices() const {
  // A process has one LibTorch: every plugin gives the same answer.
  for (const Loaded& library : loaded_) {
    if (library.descriptor->devices != nullptr) return library.descriptor->devices;
  }
  return nullptr;
}

std::string Registry::not_found(const std::string& stage) const {
  std::string text = "no plugin provides stage '" + stage + "'";
  const std::string nearest = did_you_mean(stage, stage_names());
  if (!nearest.empty()) text += "\n" + nearest;
  if (search_path_.empty()) text += "\nthe search path for plugins is empty";
  for (const SearchEntry& entry : search_path_) {
    const fs::path absolute = absolute_path(entry.path);
    std::size_t plugins = 0;
    for (const PluginFile& file : files_) {
      const bool here = file.path == absolute || file.path.parent_path() == absolute;
      if (here && file.refusal.empty()) ++plugins;
    }
    std::error_code error;
    text += "\nsearched '" + absolute.string() + "' (" + entry.source + "): ";
    text += !fs::exists(absolute, error) ? std::string("does not exist")
            : plugins == 1               ? std::string("1 plugin")
                                         : std::to_string(plugins) + " plugins";
  }
  text +=
      "\nto search other places, add plugins or their folders with SEAM_PLUGIN_PATH, --plugin-path "
      "or 'plugins' in [pipeline]";
  for (const PluginFile& file : files_) {
    if (file.refusal.empty()) continue;
    const bool offers = contains(file.manifest.stages, stage);
    text += "\nrejected '" + file.path.string() + "'" + (offers ? ", which provides it" : "") +
            ": " + file.refusal;
  }
  return text;
}

void Registry::check_conflicts(const PluginFile& file) const {
  const auto check = [&](const PluginFile& other) {
    const std::string conflict =
        library_conflict(file.manifest, file.path, other.manifest, other.path);
    if (!conflict.empty()) throw rejected(conflict);
  };
  for (const Loaded& library : loaded_) check(files_[library.file]);
  for (const std::size_t position : described_) check(files_[position]);
}

const PluginDescriptor& Registry::load(const PluginFile& file) {
  const auto position = static_cast<std::size_t>(&file - files_.data());
  for (const Loaded& library : loaded_) {
    if (library.file == position) return *library.descriptor;
  }
  // On a second attempt, the loader would treat a partly initialised library as loaded.
  if (const auto failed = failed_.find(position); failed != failed_.end()) {
    throw rejected(failed->second);
  }
  check_conflicts(file);
  namespace dll = boost::dll;
  // Without rtld_now a missing symbol would end the process when it is first called.
  constexpr auto mode = dll::load_mode::rtld_now | dll::load_mode::rtld_local;
  std::unique_ptr<dll::shared_library> library;
  const auto fail = [&](const std::string& message) {
    failed_[position] = message;
    return rejected(message);
  };
  try {
    const WhileLoading while_loading(file.path);
    library = std::make_unique<dll::shared_library>(dll::fs::path(file.path.string()), mode);
  } catch (const boost::dll::fs::system_error& error) {
    const std::string text = loader_text(error.what());
    throw fail("plugin '" + file.path.string() + "' cannot be loaded: " + text + "; " +
               loader_remedy(text));
  } catch (const std::exception& error) {
    throw fail(initialiser_threw(file.path.string(), error.what()));
  } catch (...) {  // a plugin may throw anything
    throw fail(initialiser_threw(file.path.string(), no_exception));
  }
  // Never closed, even if an error is found below: its code may be needed until the process ends
  // (deleters, type information), and LibTorch cannot be unloaded.
  dll::shared_library* const resident = library.release();
  if (!resident->has("seam_plugin")) {
    throw rejected("plugin '" + file.path.string() +
                   "' has a manifest but no entry point 'seam_plugin'; rebuild it with the SDK's "
                   "seam_add_plugin()");
  }
  const PluginDescriptor* descriptor = resident->get<const PluginDescriptor*()>("seam_plugin")();
  if (descriptor == nullptr) {
    throw rejected("plugin '" + file.path.string() + "' has an entry point that returns nothing");
  }
  if (descriptor->limit_threads != nullptr) descriptor->limit_threads(threads_);
  loaded_.push_back({position, descriptor});
  return *descriptor;
}

const PluginFile& Registry::only_file(const std::string& stage) const {
  const std::vector<const PluginFile*> offering = find_all(stage);
  if (offering.empty()) throw rejected(not_found(stage));
  if (offering.size() > 1) {
    std::string text = "stage '" + stage + "' is provided by " + std::to_string(offering.size()) +
                       " plugins; remove all but one from the search path (SEAM_PLUGIN_PATH, "
                       "--plugin-path, 'plugins' in the file), or delete one of the files";
    for (const PluginFile* file : offering) {
      text += "\nprovided by '" + file->path.string() + "' (" + file->source + ")";
    }
    throw rejected(text);
  }
  return *offering.front();
}

std::unique_ptr<StageRunner> Registry::describe(const std::string& stage,
                                                const std::string& instance,
                                                DescriptionCache* cache) {
  if (cache == nullptr) return make(stage, instance);
  const PluginFile& file = only_file(stage);
  if (std::unique_ptr<Stage> recorded = cache->recorded(file.path, stage)) {
    check_conflicts(file);
    const auto position = static_cast<std::size_t>(&file - files_.data());
    add_unless_present(described_, position);
    return std::make_unique<StageRunner>(instance, stage, std::move(recorded));
  }
  std::unique_ptr<StageRunner> runner = make(stage, instance);
  cache->record(file.path, *runner);
  return runner;
}

std::unique_ptr<StageRunner> Registry::make(const std::string& stage, const std::string& instance) {
  const PluginFile& file = only_file(stage);
  const PluginDescriptor& descriptor = load(file);
  const StageEntry* entry = find_in(descriptor.stages, stage, &StageEntry::name);
  if (entry == nullptr) {
    throw rejected("plugin '" + file.path.string() + "' lists stage '" + stage +
                   "' in its manifest but does not provide it; rebuild it");
  }
  const std::string doing =
      "creating stage '" + instance + "' (" + stage + ") of plugin '" + file.path.string() + "'";
  try {
    return std::make_unique<StageRunner>(instance, stage, entry->create());
  } catch (Error& error) {
    error.while_doing(doing);
    throw;
  } catch (const std::exception& error) {
    throw Error(error.what(), Fault::internal).while_doing(doing);
  } catch (...) {  // a plugin may throw anything
    throw Error("the plugin threw an exception that is not a std::exception", Fault::internal)
        .while_doing(doing);
  }
}

fs::path own_prefix() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path().parent_path();
}

std::vector<SearchEntry> named_search_path(const std::vector<std::string>& from_pipeline,
                                           const std::vector<std::string>& from_command_line) {
  std::vector<SearchEntry> entries;
  entries.reserve(from_pipeline.size() + from_command_line.size());
  for (const std::string& path : from_pipeline) entries.push_back({path, "the pipeline's plugins"});
  for (const std::string& path : from_command_line) entries.push_back({path, command_line});
  return entries;
}

std::vector<SearchEntry> resumed_search_path(const std::vector<fs::path>& recorded,
                                             std::vector<SearchEntry> usual) {
  std::vector<SearchEntry> entries;
  for (const SearchEntry& entry : usual) {
    if (entry.source == command_line) entries.push_back(entry);
  }
  for (const fs::path& plugin : recorded) {
    entries.push_back({plugin, "the run's own record", false, 1});
  }
  for (SearchEntry& entry : usual) {
    if (entry.source == command_line) continue;
    entry.layer = 2;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<SearchEntry> default_search_path(const std::vector<std::string>& from_pipeline,
                                             const std::vector<std::string>& from_command_line) {
  std::vector<SearchEntry> entries = named_search_path(from_pipeline, from_command_line);
  // Read at start-up, before there are other threads.
  const char* variable =
      std::getenv("SEAM_PLUGIN_PATH");  // NOLINT(concurrency-mt-unsafe): as above
  for (const std::string_view path : split(variable == nullptr ? "" : variable, ':')) {
    if (!path.empty()) entries.push_back({fs::path(path), "SEAM_PLUGIN_PATH"});
  }
  if (const fs::path prefix = own_prefix(); !prefix.empty()) {
    entries.push_back({prefix / "lib/seam/plugins", "the program's own folder", true});
  }
  return entries;
}

}  // namespace seam::host
