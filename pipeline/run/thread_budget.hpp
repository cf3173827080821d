/// Determines how many threads a run may use, and configures all libraries accordingly.
///
///     --threads  or  the pipeline's `threads`  or  the cores this process may use
///                                                   └ affinity mask, cgroup CPU quota
///
/// TBB, OpenMP and BLAS each start a pool with as many threads as the machine has cores; by
/// default, their sizes multiply. They read the sizes from environment variables when they are
/// loaded, so this must be done before the first plugin is loaded.
///
/// The same applies to the time for which a waiting OpenMP thread spins before it sleeps. libgomp
/// spins for 300,000 iterations (milliseconds): on a core shared with another process, each wait
/// then consumes the time slice that the other thread needs. A short spin bridges the gap to the
/// next parallel loop and costs little on a contended core.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace seam::host {

struct CoreCount {
  int affinity = 1;             ///< cores that this process may run on
  std::optional<double> quota;  ///< CPU time that its cgroups allow, in cores; none: no limit
  [[nodiscard]] int usable() const;
};

/// `root`: replaces "/" in tests.
CoreCount count_cores(const std::filesystem::path& root = "/");

/// The first of the three that is set.
int thread_budget(std::optional<int> command_line, std::optional<int> pipeline,
                  const CoreCount& cores);

/// The environment variables that obey_thread_budget sets.
inline constexpr std::array<std::string_view, 3> thread_variables{
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"};

/// How long idle OpenMP threads spin, as an environment variable of libgomp.
struct SpinPolicy {
  std::string_view variable;
  std::string value;
  bool of_user = false;  ///< set in the user's environment; a run does not change it
};

/// The user's OMP_WAIT_POLICY or GOMP_SPINCOUNT if one of them is set; else the host's choice.
[[nodiscard]] SpinPolicy spin_policy();

/// Sets the thread variables and the spin policy for this process. Not safe once other threads read
/// the environment: call it first.
void obey_thread_budget(int threads);

}  // namespace seam::host
