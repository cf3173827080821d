#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "pipeline/cli/loading.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/parse.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

constexpr unsigned longest_loading_seconds = 60;
// Neither exit codes of the program nor codes that a library is likely to exit with.
constexpr int loaded_well = 77;
constexpr int stages_at_fault = 78;

/// Why a plugin file, or some of its stages, cannot be used; empty if all can.
struct Trial {
  std::string refusal;
  std::string defects;  ///< of its stages, one per line
};

/// Prints one line for each stage that cannot be created. Returns whether all could.
bool report_stages(Registry& alone) {
  bool sound = true;
  for (const std::string& stage : alone.files().front().manifest.stages) {
    try {
      (void)alone.make(stage, stage);
    } catch (const Error& error) {
      std::cerr << "stage '" << stage << "' cannot be created: " << error.what() << "\n";
      sound = false;
    }
  }
  return sound;
}

/// Loads the plugin and creates its stages in a child process, because an error in a plugin's
/// static initialisers ends the process.
Trial tried(const fs::path& plugin) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {"loading was not tried: cannot create a pipe", {}};
  const pid_t child = ::fork();
  if (child < 0) return {"loading was not tried: cannot create a process", {}};
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);  // keep output of the loaded library out of our listing
    ::close(ends[0]);
    ::close(ends[1]);
    ::alarm(longest_loading_seconds);
    int code = loaded_well;
    try {
      Registry alone({{plugin, "--load"}}, 1);
      alone.try_loading(alone.files().front());
      if (!report_stages(alone)) code = stages_at_fault;
    } catch (const Error& error) {
      code = static_cast<int>(report_error(error));
    }
    std::cerr.flush();
    std::_Exit(code);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  while (said.ends_with('\n')) said.pop_back();
  constexpr std::string_view prefix = "seam: error: ";
  if (said.starts_with(prefix)) said.erase(0, prefix.size());
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    return {"loading it timed out after " + std::to_string(longest_loading_seconds) + " seconds",
            {}};
  }
  if (WIFSIGNALED(status)) {
    return {"loading it kills the process: " + std::string(::strsignal(WTERMSIG(status))) +
                (said.empty() ? "" : "; " + said),
            {}};
  }
  if (WEXITSTATUS(status) == loaded_well) return {};
  if (WEXITSTATUS(status) == stages_at_fault) return {{}, said};
  return {said.empty() ? "loading it ends the process without a message" : said, {}};
}

/// One per file, in the same order.
std::vector<Trial> trials_of(const Registry& registry, bool load) {
  std::vector<Trial> trials;
  for (const PluginFile& file : registry.files()) {
    Trial trial{file.refusal, {}};
    if (trial.refusal.empty() && load) trial = tried(file.path);
    trials.push_back(std::move(trial));
  }
  return trials;
}

/// Stages that several plugins provide, one sentence each.
std::vector<std::string> doubled_stages(const Registry& registry) {
  std::vector<std::string> sentences;
  for (const std::string& stage : registry.stage_names()) {
    const std::vector<const PluginFile*> offering = registry.find_all(stage);
    if (offering.size() < 2) continue;
    std::string text = "stage '" + stage + "' is provided by " + std::to_string(offering.size()) +
                       " plugins, so a pipeline that uses it is rejected; remove all but one from "
                       "the search path, or rename the stage in one of them and rebuild it";
    for (const PluginFile* file : offering) text += "\n    " + file->path.string();
    sentences.push_back(std::move(text));
  }
  return sentences;
}

void print_plugins_json(const Registry& registry, const std::vector<Trial>& trials) {
  const Json path = list_json(registry.search_path(), [](const SearchEntry& entry) -> Json {
    return {{"path", entry.path.string()}, {"source", entry.source}};
  });
  Json files = Json::array();
  for (std::size_t at = 0; at < registry.files().size(); ++at) {
    const PluginFile& file = registry.files()[at];
    const Trial& trial = trials[at];
    files.push_back({{"path", file.path.string()},
                     {"source", file.source},
                     {"stages", file.manifest.stages},
                     {"sdk", file.manifest.sdk},
                     {"compiler", file.manifest.compiler},
                     {"libtorch", file.manifest.libtorch},
                     {"opencv", file.manifest.opencv},
                     {"refusal", trial.refusal},
                     {"defects", trial.defects},
                     {"conflict", trial.refusal.empty() ? registry.conflict(file) : ""}});
  }
  std::cout << json_line({{"search_path", path},
                          {"plugins", files},
                          {"doubled", doubled_stages(registry)}})
            << std::endl;
}

void print_plugins_text(const Registry& registry, const std::vector<Trial>& trials, bool load) {
  const std::vector<PluginFile>& files = registry.files();
  for (std::size_t at = 0; at < files.size(); ++at) {
    if (!trials[at].refusal.empty()) continue;
    std::cout << files[at].path.string() << (load ? ": loaded" : "")
              << (files[at].manifest.libtorch == "none"
                      ? std::string()
                      : " (LibTorch " + files[at].manifest.libtorch + ")")
              << "\n";
    for (const std::string& stage : files[at].manifest.stages) std::cout << "  " << stage << "\n";
  }
  for (std::size_t at = 0; at < files.size(); ++at) {
    if (trials[at].refusal.empty()) continue;
    std::cout << "refused: " << files[at].path.string() << "\n  " << trials[at].refusal << "\n";
  }
  for (std::size_t at = 0; at < files.size(); ++at) {
    if (trials[at].defects.empty()) continue;
    std::cout << "defects: " << files[at].path.string() << "\n"
              << "  " << replaced(trials[at].defects, "\n", "\n  ") << "\n";
  }
  for (std::size_t at = 0; at < files.size(); ++at) {
    const std::string conflict = trials[at].refusal.empty() ? registry.conflict(files[at]) : "";
    if (!conflict.empty()) std::cout << "not together: " << conflict << "\n";
  }
  for (const std::string& sentence : doubled_stages(registry)) {
    std::cout << "doubled: " << sentence << "\n";
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
  // No plugin is loaded into this process: the number of threads does not matter.
  const Registry registry(default_search_path({}, arguments.plugin_paths), 1);
  const std::vector<Trial> trials = trials_of(registry, arguments.load);
  if (arguments.json) {
    print_plugins_json(registry, trials);
  } else {
    print_plugins_text(registry, trials, arguments.load);
  }
  // With --load, the exit code also tells whether all plugins can be used.
  const bool all_well = std::ranges::all_of(
      trials, [](const Trial& trial) { return trial.refusal.empty() && trial.defects.empty(); });
  if (arguments.load && (!all_well || !doubled_stages(registry).empty())) {
    return ExitCode::configuration;
  }
  return ExitCode::success;
}

}  // namespace seam::host
