#include "pipeline/run/thread_budget.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>

#include "pipeline/run/cgroup.hpp"

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

}  // namespace

int CoreCount::usable() const {
  if (!quota) return std::max(affinity, 1);
  // Rounded down: with more threads than the quota allows, threads are suspended during their work.
  return std::clamp(static_cast<int>(std::floor(*quota)), 1, std::max(affinity, 1));
}

CoreCount count_cores(const fs::path& root) {
  return {affinity_cores(), group_limit(root, "cpu", quota_v2, quota_v1)};
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
