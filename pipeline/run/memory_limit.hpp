/// How much memory this process may use: the least of what its cgroup, its Slurm job and the
/// machine allow. A process that exceeds it is killed without a message, so a run checks the sizes
/// that are known in advance before it starts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace seam::host {

struct MemoryLimit {
  double bytes = 0;
  std::string source;  ///< "the machine", "the cgroup" or "Slurm"
};

/// `environment`: the variables of the process; Slurm sets SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU
/// and SLURM_CPUS_ON_NODE, in MiB. `root`: replaces "/" in tests.
MemoryLimit memory_limit(const std::map<std::string, std::string>& environment,
                         const std::filesystem::path& root = "/");

/// "4,096 MiB, set by Slurm".
std::string to_text(const MemoryLimit& limit);

/// Throws seam::Error (configuration) if packets of `bytes`, as in [limits], leave no memory to
/// process them.
void refuse_larger(std::int64_t bytes, const MemoryLimit& limit);

}  // namespace seam::host
