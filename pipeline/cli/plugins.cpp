#include <iostream>
#include <system_error>

#include "pipeline/cli/verbs.hpp"
#include "pipeline/plugins/nearest.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/json.hpp"

namespace seam::host {
namespace {

void print_json(const Registry& registry) {
  JsonArray path;
  for (const SearchEntry& entry : registry.search_path()) {
    path.add_raw(JsonObject().add("path", entry.path.string()).add("source", entry.source).text());
  }
  JsonArray files;
  for (const PluginFile& file : registry.files()) {
    files.add_raw(JsonObject()
                      .add("path", file.path.string())
                      .add("source", file.source)
                      .add("stages", file.manifest.stages)
                      .add("sdk", file.manifest.sdk)
                      .add("compiler", file.manifest.compiler)
                      .add("libtorch", file.manifest.libtorch)
                      .add("opencv", file.manifest.opencv)
                      .add("refusal", file.refusal)
                      .text());
  }
  std::cout
      << JsonObject().add_raw("search_path", path.text()).add_raw("plugins", files.text()).text()
      << std::endl;
}

void print_text(const Registry& registry) {
  for (const PluginFile& file : registry.files()) {
    if (!file.refusal.empty()) continue;
    std::cout << file.path.string() << "\n";
    for (const std::string& stage : file.manifest.stages) std::cout << "  " << stage << "\n";
  }
  for (const PluginFile& file : registry.files()) {
    if (!file.refusal.empty()) {
      std::cout << "refused: " << file.path.string() << "\n  " << file.refusal << "\n";
    }
  }
  std::cout << "searched:\n";
  for (const SearchEntry& entry : registry.search_path()) {
    std::error_code error;
    const bool there = std::filesystem::exists(entry.path, error);
    std::cout << "  " << entry.path.string() << " (" << entry.source << ")"
              << (there ? "" : ": does not exist") << "\n";
  }
  std::cout.flush();
}

}  // namespace

ExitCode plugins_verb(const PluginsArguments& arguments) {
  // No plugin is loaded: the number of threads does not matter.
  const Registry registry(default_search_path({}, arguments.plugin_paths), 1);
  if (arguments.json) {
    print_json(registry);
  } else {
    print_text(registry);
  }
  return ExitCode::success;
}

}  // namespace seam::host
