#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>

#include "pipeline/cli/crash_lines.hpp"
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

namespace seam::host {
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
