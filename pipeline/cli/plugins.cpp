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

#include "pipeline/cli/report.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

constexpr unsigned longest_loading_seconds = 60;
// No codes of the program's, and none that a library would end with.
constexpr int loaded_well = 77;
constexpr int stages_at_fault = 78;

/// What keeps a file, or single stages of it, from being used; empty where nothing does.
struct Trial {
  std::string refusal;
  std::string defects;  ///< of its stages, a line each
};

/// Says of each stage that cannot be made why, in a line; whether there was none.
bool report_stages(Registry& alone) {
  bool sound = true;
  for (const std::string& stage : alone.files().front().manifest.stages) {
    try {
      (void)alone.make(stage, stage);
    } catch (const Error& error) {
      std::cerr << "stage '" << stage << "' cannot be made: " << error.what() << "\n";
      sound = false;
    }
  }
  return sound;
}

/// Loads the plugin and makes its stages in a process of its own. What goes wrong in a plugin's
/// static initialisers takes a process with it.
Trial tried(const fs::path& plugin) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {"it was not tried: no pipe could be made", {}};
  const pid_t child = ::fork();
  if (child < 0) return {"it was not tried: no process could be made", {}};
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);  // what a library says when it is loaded is none of our listing
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
    return {"it is not loaded after " + std::to_string(longest_loading_seconds) + " seconds", {}};
  }
  if (WIFSIGNALED(status)) {
    return {"it ends the process that loads it: " + std::string(::strsignal(WTERMSIG(status))) +
                (said.empty() ? "" : "; " + said),
            {}};
  }
  if (WEXITSTATUS(status) == loaded_well) return {};
  if (WEXITSTATUS(status) == stages_at_fault) return {{}, said};
  return {said.empty() ? "it silently ends the process that loads it" : said, {}};
}

/// For each file, by position.
std::vector<Trial> trials_of(const Registry& registry, bool load) {
  std::vector<Trial> trials;
  for (const PluginFile& file : registry.files()) {
    Trial trial{file.refusal, {}};
    if (trial.refusal.empty() && load) trial = tried(file.path);
    trials.push_back(std::move(trial));
  }
  return trials;
}

/// Stages that several plugins offer, a sentence each.
std::vector<std::string> doubled_stages(const Registry& registry) {
  std::vector<std::string> sentences;
  for (const std::string& stage : registry.stage_names()) {
    const std::vector<const PluginFile*> offering = registry.find_all(stage);
    if (offering.size() < 2) continue;
    std::string text = "stage '" + stage + "' is offered by " + std::to_string(offering.size()) +
                       " plugins, and a pipeline that names it is refused; remove all but one from "
                       "the search path, or rename the stage in one of them and rebuild it";
    for (const PluginFile* file : offering) text += "\n    " + file->path.string();
    sentences.push_back(std::move(text));
  }
  return sentences;
}

void print_json(const Registry& registry, const std::vector<Trial>& trials) {
  Json path = Json::array();
  for (const SearchEntry& entry : registry.search_path()) {
    path.push_back({{"path", entry.path.string()}, {"source", entry.source}});
  }
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

std::string indented(const std::string& lines) {
  std::string text = "  ";
  for (const char c : lines) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return text;
}

void print_text(const Registry& registry, const std::vector<Trial>& trials, bool load) {
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
              << indented(trials[at].defects) << "\n";
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
    print_json(registry, trials);
  } else {
    print_text(registry, trials, arguments.load);
  }
  // Asked whether plugins can be used, the exit code answers as well.
  const bool all_well = std::ranges::all_of(
      trials, [](const Trial& trial) { return trial.refusal.empty() && trial.defects.empty(); });
  if (arguments.load && (!all_well || !doubled_stages(registry).empty())) {
    return ExitCode::configuration;
  }
  return ExitCode::success;
}

}  // namespace seam::host
