#include "pipeline/run/memory_limit.hpp"

#include <unistd.h>

#include <fstream>
#include <optional>

#include "pipeline/run/cgroup.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/parse.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

constexpr double mebibyte = 1 << 20;

/// None if the file does not contain a number, such as "max" in version 2.
std::optional<double> bytes_in(const fs::path& file) {
  std::ifstream stream(file);
  double bytes = 0;
  if (!(stream >> bytes) || bytes <= 0) return std::nullopt;
  return bytes;
}

/// None if the variable is unset, or 0, with which Slurm means all memory of the node.
std::optional<double> positive(const std::map<std::string, std::string>& environment,
                               const std::string& variable) {
  const auto found = environment.find(variable);
  const auto number =
      found == environment.end() ? std::nullopt : number_in<std::int64_t>(found->second);
  if (!number || *number <= 0) return std::nullopt;
  return static_cast<double>(*number);
}

std::optional<double> slurm_bytes(const std::map<std::string, std::string>& environment) {
  if (const auto per_node = positive(environment, "SLURM_MEM_PER_NODE"))
    return *per_node * mebibyte;
  const auto per_cpu = positive(environment, "SLURM_MEM_PER_CPU");
  const auto cpus = positive(environment, "SLURM_CPUS_ON_NODE");
  if (!per_cpu || !cpus) return std::nullopt;
  return *per_cpu * *cpus * mebibyte;
}

std::string mebibytes(double bytes) {
  return count_text(static_cast<std::uint64_t>(bytes / mebibyte)) + " MiB";
}

}  // namespace

MemoryLimit memory_limit(const std::map<std::string, std::string>& environment,
                         const fs::path& root) {
  MemoryLimit least{
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
      "the machine"};
  const auto lower_to = [&least](std::optional<double> bytes, const char* source) {
    if (bytes && *bytes < least.bytes) least = {*bytes, source};
  };
  lower_to(group_limit(
               root, "memory", [](const fs::path& group) { return bytes_in(group / "memory.max"); },
               [](const fs::path& group) { return bytes_in(group / "memory.limit_in_bytes"); }),
           "the cgroup");
  lower_to(slurm_bytes(environment), "Slurm");
  return least;
}

std::string to_text(const MemoryLimit& limit) {
  return mebibytes(limit.bytes) + ", set by " + limit.source;
}

void refuse_larger(std::int64_t bytes, const MemoryLimit& limit) {
  const auto packets = static_cast<double>(bytes);
  if (packets < limit.bytes) return;
  refuse(
      "packets of {}, which `bytes` of [limits] allows, do not fit into this process's memory "
      "({}); lower `bytes`, for example to {} (of a run that is resumed: in its resolved.toml), or "
      "request more memory",
      mebibytes(packets), to_text(limit), mebibytes(limit.bytes / 8));
}

}  // namespace seam::host
