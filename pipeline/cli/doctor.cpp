#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "pipeline/cli/verbs.hpp"
#include "pipeline/config/load.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/crash_report.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/freed_memory.hpp"
#include "pipeline/run/memory_limit.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/thread_budget.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

void print_versions() {
  const Manifest host = host_manifest();
  std::cout << "seam        " << seam_version() << "\n"
            << "sdk         " << host.sdk << "\n"
            << "compiler    " << host.compiler << "\n"
            << "library     " << host.stdlib << "\n"
            << "sanitizer   " << host.sanitizer << "\n";
}

void print_memory() {
  std::cout << "\nmemory\n  limit of this process: " << to_text(memory_limit(process_environment()))
            << "\n";
}

void print_threads() {
  const CoreCount cores = count_cores();
  std::cout << "\nthreads\n"
            << fmt::format("  cores this process may use: {}\n", cores.affinity)
            << (cores.quota ? fmt::format("  cgroup CPU quota: {:.2f} cores\n", *cores.quota)
                            : std::string("  cgroup CPU quota: none\n"))
            << fmt::format("  thread limit of a run without --threads: {}\n", cores.usable());
  for (const std::string_view variable : thread_variables) {
    const std::string name(variable);
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    std::cout << fmt::format("  {}: {}; a run sets it to its thread limit\n", name,
                             value == nullptr ? "not set" : value);
  }
  const SpinPolicy spin = spin_policy();
  std::cout << fmt::format("  idle OpenMP threads: {}={}, {}\n", spin.variable, spin.value,
                           spin.of_user ? "from your environment; a run does not change it"
                                        : "set by a run: a short spin, then sleep")
            << fmt::format("  freed memory: {}\n", describe(freed_memory_choice()));
}

/// Loads a plugin, because only LibTorch knows the devices. Called last, because a broken plugin
/// may crash the process.
void print_devices(Registry& registry) {
  std::cout << "\ndevices" << std::endl;
  for (const PluginFile& file : registry.files()) {
    if (!file.refusal.empty() || file.manifest.libtorch == "none") continue;
    try {
      registry.try_loading(file);
    } catch (const Error& error) {
      std::cout << "  unknown: " << error.what() << "\n";
      return;
    }
    const DeviceList devices = registry.devices();
    if (devices == nullptr) continue;
    std::cout << fmt::format("  LibTorch {} computes on {}\n", file.manifest.libtorch,
                             enumerated(devices()));
    return;
  }
  std::cout << "  cpu: no plugin uses LibTorch\n";
}

void print_plugins(const Registry& registry) {
  std::cout << "\nplugins\n";
  for (const SearchEntry& entry : registry.search_path()) {
    std::error_code error;
    const bool there = std::filesystem::exists(entry.path, error);
    std::cout << fmt::format("  searched {} ({}){}\n", entry.path.string(), entry.source,
                             there ? "" : ": does not exist");
  }
  for (const PluginFile& file : registry.files()) {
    if (!file.refusal.empty()) continue;
    std::cout << fmt::format("  {}: {}, libtorch {}, opencv {}\n", file.path.string(),
                             counted(file.manifest.stages.size(), "stage"), file.manifest.libtorch,
                             file.manifest.opencv);
  }
  for (const PluginFile& file : registry.files()) {
    if (!file.refusal.empty()) {
      std::cout << fmt::format("  refused {}: {}\n", file.path.string(), file.refusal);
    }
  }
}

/// Returns the output of a program. Throws seam::Error (configuration) if it cannot be started.
std::string output_of(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error("cannot open a pipe: " + std::generic_category().message(errno), Fault::internal);
  }
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string output;
  std::array<char, 4096> part{};
  while (failed == 0) {
    const ssize_t size = ::read(ends[0], part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    output.append(part.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  if (failed != 0) {
    refuse("cannot start '{}': {}; it is part of binutils (Debian: apt-get install binutils)",
           command[0], std::generic_category().message(failed));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error(fmt::format("'{}' failed; its message is above", command[0]));
  }
  return output;
}

/// Returns addr2line's output for a library's offsets: "function at file:line", in the same order.
std::vector<std::string> lines_of(const std::string& library,
                                  const std::set<std::string>& offsets) {
  std::vector<std::string> command{"addr2line",      "--demangle",  "--functions", "--inlines",
                                   "--pretty-print", "--addresses", "--exe",       library};
  command.insert(command.end(), offsets.begin(), offsets.end());
  std::istringstream output(output_of(std::move(command)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(output, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("0x") && colon != std::string::npos) {
      lines.push_back(line.substr(colon + 2));
    } else if (!lines.empty()) {
      lines.back() += "\n     " + line;  // a function that was inlined there
    }
  }
  lines.resize(offsets.size());
  return lines;
}

/// Returns the crash with one line per frame, as addr2line finds them, and why frames have no
/// source line. `reported`: the file with the report; libraries that were changed later are named.
/// Throws seam::Error (configuration) if addr2line cannot be started.
std::string crash_text(const Crash& crash, const fs::path& reported) {
  std::map<std::string, std::set<std::string>> offsets;
  for (const CrashFrame& frame : crash.frames) offsets[frame.library].insert(frame.offset);
  std::map<std::pair<std::string, std::string>, std::string> lines;
  std::string remarks;
  std::error_code unknown;
  const auto told = fs::last_write_time(reported, unknown);
  for (const auto& [library, of_library] : offsets) {
    if (!fs::exists(library, unknown)) {
      remarks += fmt::format("'{}' no longer exists\n", library);
      continue;
    }
    if (fs::last_write_time(library, unknown) > told) {
      remarks += fmt::format("'{}' was changed after the crash; its lines may be wrong\n", library);
    }
    const std::vector<std::string> found = lines_of(library, of_library);
    std::size_t without = 0;
    for (auto offset = of_library.begin(); const std::string& line : found) {
      if (line.empty() || line.find("??:") != std::string::npos) {
        ++without;
      } else {
        lines.emplace(std::pair(library, *offset), line);
      }
      ++offset;
    }
    if (without == found.size()) {
      remarks += fmt::format("'{}' has no line tables; build it with -g1\n", library);
    }
  }
  std::string text = "crash: " + crash.what + "\n";
  std::size_t resolved = 0;
  for (std::size_t at = 0; at < crash.frames.size(); ++at) {
    const CrashFrame& frame = crash.frames[at];
    const auto line = lines.find({frame.library, frame.offset});
    if (line != lines.end()) ++resolved;
    text += fmt::format("#{:<3} {}\n", at,
                        line != lines.end() ? line->second
                                            : fmt::format("{}(+{}) {}, no line", frame.library,
                                                          frame.offset, frame.symbol));
  }
  text += fmt::format("lines were found for {} of {}\n", resolved,
                      counted(crash.frames.size(), "frame"));
  return text + remarks;
}

ExitCode print_crash(const std::string& file) {
  const std::optional<Crash> crash = find_crash(read_text_file(file));
  if (!crash) {
    throw Error(
        "'" + file +
            "' contains no crash report: no line begins with 'crash: '; pass the run.log of "
            "a run that crashed, or a file with the program's output",
        Fault::data);
  }
  std::cout << crash_text(*crash, file) << std::flush;
  return ExitCode::success;
}

}  // namespace

ExitCode doctor_verb(const DoctorArguments& arguments) {
  if (!arguments.crash.empty()) return print_crash(arguments.crash);
  print_versions();
  print_threads();
  print_memory();
  Registry registry(default_search_path({}, arguments.plugin_paths), 1);
  print_plugins(registry);
  print_devices(registry);
  std::cout.flush();
  return ExitCode::success;
}

}  // namespace seam::host
