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
#include "pipeline/plugins/nearest.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/json.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

constexpr unsigned longest_loading_seconds = 60;
constexpr int loaded_well = 77;  // no code of the program's, and none that a library would end with

/// What a process of its own says when it loads the plugin; nothing where all is well. What goes
/// wrong in a plugin's static initialisers takes a process with it.
std::string loading_problem(const fs::path& plugin) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "it was not tried: no pipe could be made";
  const pid_t child = ::fork();
  if (child < 0) return "it was not tried: no process could be made";
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
    return "it is not loaded after " + std::to_string(longest_loading_seconds) + " seconds";
  }
  if (WIFSIGNALED(status)) {
    return "it ends the process that loads it: " + std::string(::strsignal(WTERMSIG(status))) +
           (said.empty() ? "" : "; " + said);
  }
  if (WEXITSTATUS(status) == loaded_well) return {};
  return said.empty() ? "it ends the process that loads it, without a word" : said;
}

/// What keeps each file from being used, by position; empty where nothing does.
std::vector<std::string> problems_of(const Registry& registry, bool load) {
  std::vector<std::string> problems;
  for (const PluginFile& file : registry.files()) {
    std::string problem = file.refusal;
    if (problem.empty() && load) problem = loading_problem(file.path);
    problems.push_back(std::move(problem));
  }
  return problems;
}

/// Stages that several plugins offer, a sentence each.
std::vector<std::string> doubled_stages(const Registry& registry) {
  std::vector<std::string> sentences;
  for (const std::string& stage : registry.stage_names()) {
    const std::vector<const PluginFile*> offering = registry.find_all(stage);
    if (offering.size() < 2) continue;
    std::string text = "stage '" + stage + "' is offered by " + std::to_string(offering.size()) +
                       " plugins, and a pipeline that names it is refused; remove all but one from "
                       "the search path";
    for (const PluginFile* file : offering) text += "\n    " + file->path.string();
    sentences.push_back(std::move(text));
  }
  return sentences;
}

void print_json(const Registry& registry, const std::vector<std::string>& problems) {
  JsonArray path;
  for (const SearchEntry& entry : registry.search_path()) {
    path.add_raw(JsonObject().add("path", entry.path.string()).add("source", entry.source).text());
  }
  JsonArray files;
  for (std::size_t at = 0; at < registry.files().size(); ++at) {
    const PluginFile& file = registry.files()[at];
    files.add_raw(JsonObject()
                      .add("path", file.path.string())
                      .add("source", file.source)
                      .add("stages", file.manifest.stages)
                      .add("sdk", file.manifest.sdk)
                      .add("compiler", file.manifest.compiler)
                      .add("libtorch", file.manifest.libtorch)
                      .add("opencv", file.manifest.opencv)
                      .add("refusal", problems[at])
                      .add("conflict", problems[at].empty() ? registry.conflict(file) : "")
                      .text());
  }
  std::cout
      << JsonObject().add_raw("search_path", path.text()).add_raw("plugins", files.text()).text()
      << std::endl;
}

void print_text(const Registry& registry, const std::vector<std::string>& problems, bool load) {
  const std::vector<PluginFile>& files = registry.files();
  for (std::size_t at = 0; at < files.size(); ++at) {
    if (!problems[at].empty()) continue;
    std::cout << files[at].path.string() << (load ? ": loaded" : "") << "\n";
    for (const std::string& stage : files[at].manifest.stages) std::cout << "  " << stage << "\n";
  }
  for (std::size_t at = 0; at < files.size(); ++at) {
    if (problems[at].empty()) continue;
    std::cout << "refused: " << files[at].path.string() << "\n  " << problems[at] << "\n";
  }
  for (std::size_t at = 0; at < files.size(); ++at) {
    const std::string conflict = problems[at].empty() ? registry.conflict(files[at]) : "";
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
  const std::vector<std::string> problems = problems_of(registry, arguments.load);
  if (arguments.json) {
    print_json(registry, problems);
  } else {
    print_text(registry, problems, arguments.load);
  }
  // Asked whether plugins can be used, the exit code answers as well.
  const bool all_well = std::ranges::all_of(problems, &std::string::empty);
  if (arguments.load && !all_well) return ExitCode::configuration;
  return ExitCode::success;
}

}  // namespace seam::host
