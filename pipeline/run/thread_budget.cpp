#include "pipeline/run/thread_budget.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

namespace seam::host {
namespace fs = std::filesystem;
namespace {

int affinity_cores() {
  // The kernel's mask may be wider than cpu_set_t on machines with more than 1,024 cores.
  for (int cores = 1024; cores <= 1 << 16; cores *= 2) {
    const auto release = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(release)> set(CPU_ALLOC(cores), release);
    const std::size_t size = CPU_ALLOC_SIZE(cores);
    CPU_ZERO_S(size, set.get());
    if (::sched_getaffinity(0, size, set.get()) == 0) return CPU_COUNT_S(size, set.get());
  }
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// "max 100000" or "150000 100000" (quota and period, version 2).
std::optional<double> quota_v2(const fs::path& folder) {
  std::ifstream file(folder / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  return std::strtod(quota.c_str(), nullptr) / period;
}

std::optional<double> quota_v1(const fs::path& folder) {
  double quota = 0;
  double period = 0;
  std::ifstream quota_file(folder / "cpu.cfs_quota_us");
  std::ifstream period_file(folder / "cpu.cfs_period_us");
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  return quota / period;
}

/// The tightest limit from a group up to the hierarchy's top, since each group limits those below.
template <class Quota>
std::optional<double> tightest(const fs::path& top, const fs::path& group, const Quota& quota) {
  std::optional<double> least;
  fs::path below = group.relative_path();
  while (true) {
    if (const auto limit = quota(top / below); limit && (!least || *limit < *least)) least = limit;
    if (below.empty()) return least;
    below = below.parent_path();
  }
}

std::optional<double> cgroup_quota(const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  std::optional<double> least;
  const auto note = [&](std::optional<double> limit) {
    if (limit && (!least || *limit < *least)) least = limit;
  };
  // Lines "0::/group" (version 2) or "4:cpu,cpuacct:/group" (version 1).
  for (std::string line; std::getline(groups, line);) {
    std::istringstream parts(line);
    std::string number;
    std::string controllers;
    std::string group;
    std::getline(parts, number, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, group);
    if (controllers.empty()) {
      note(tightest(mount, group, quota_v2));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      note(tightest(mount / controllers, group, quota_v1));
    }
  }
  return least;
}

}  // namespace

int CoreCount::usable() const {
  if (!quota) return std::max(affinity, 1);
  // Rounded down: with more threads than the quota allows, threads are suspended during their work.
  return std::clamp(static_cast<int>(std::floor(*quota)), 1, std::max(affinity, 1));
}

CoreCount count_cores(const fs::path& root) {
  return {affinity_cores(), cgroup_quota(root)};
}

int thread_budget(std::optional<int> command_line, std::optional<int> pipeline,
                  const CoreCount& cores) {
  if (command_line) return *command_line;
  if (pipeline) return *pipeline;
  return cores.usable();
}

SpinPolicy spin_policy() {
  for (const char* variable : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): called first
    if (value != nullptr && *value != '\0') return {variable, value, true};
  }
  // libgomp uses this value itself if it has more threads than cores, but it does not know about
  // the threads of other processes. docs/running.md has the measurements.
  return {"GOMP_SPINCOUNT", "1000", false};
}

void obey_thread_budget(int threads) {
  const std::string text = std::to_string(threads);
  for (const std::string_view variable : thread_variables) {
    ::setenv(std::string(variable).c_str(), text.c_str(), 1);
  }
  const SpinPolicy spin = spin_policy();
  if (!spin.of_user) ::setenv(std::string(spin.variable).c_str(), spin.value.c_str(), 1);
}

}  // namespace seam::host
