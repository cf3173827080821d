/// How many threads a run may use, and telling every library so.
///
///     --threads  or  the pipeline's `threads`  or  the cores this process may use
///                                                   └ affinity mask, cgroup CPU quota
///
/// TBB, OpenMP and BLAS each start a pool of their own as large as the machine; left alone their
/// sizes multiply. Their pools are sized by environment variables that they read when they are
/// loaded, which is why this must come before the first plugin.
///
/// So is how long an OpenMP thread spins before it sleeps while it waits for the others. libgomp
/// spins for 300,000 turns, milliseconds: on a core that another process shares, each wait then
/// burns the time slice that the thread waited for would need. A short spin bridges the gap to the
/// next parallel loop and costs little where the core is contended.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace seam::host {

struct CoreCount {
  int affinity = 1;             ///< cores that the scheduler may give this process
  std::optional<double> quota;  ///< cores' worth of time that its cgroups allow; none: no limit
  [[nodiscard]] int usable() const;
};

/// `root` stands for "/" in tests.
CoreCount count_cores(const std::filesystem::path& root = "/");

/// The first of the three that says something.
int thread_budget(std::optional<int> command_line, std::optional<int> pipeline,
                  const CoreCount& cores);

/// The environment variables that obey_thread_budget sets.
inline constexpr std::array<std::string_view, 3> thread_variables{
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"};

/// How long idle OpenMP threads spin, as an environment variable of libgomp's says it.
struct SpinPolicy {
  std::string_view variable;
  std::string value;
  bool of_user = false;  ///< the user's environment has it; a run leaves that alone
};

/// The user's OMP_WAIT_POLICY or GOMP_SPINCOUNT where one of them is set; else the host's choice.
[[nodiscard]] SpinPolicy spin_policy();

/// Sets them, and the spin policy, for this process. Not safe once other threads read the
/// environment: call it first.
void obey_thread_budget(int threads);

}  // namespace seam::host
