#include "pipeline/run/memory_limit.hpp"

#include <gtest/gtest.h>

#include "seam/refusal_testing.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::memory_limit_test {

using seam::test::TemporaryFolder;

constexpr double mebibyte = 1 << 20;

TEST(MemoryLimit, WithoutLimitsIsTheMachines) {
  const TemporaryFolder root;
  const MemoryLimit limit = memory_limit({}, root.path());
  EXPECT_GT(limit.bytes, 64 * mebibyte);
  EXPECT_EQ(limit.source, "the machine");
}

TEST(MemoryLimit, IsTheTightestOfTheGroups) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/user/job\n");
  root.write("sys/fs/cgroup/user/job/memory.max", "max\n");
  EXPECT_EQ(memory_limit({}, root.path()).source, "the machine");
  root.write("sys/fs/cgroup/user/memory.max", "33554432\n");
  root.write("sys/fs/cgroup/memory.max", "67108864\n");
  EXPECT_EQ(memory_limit({}, root.path()).bytes, 32 * mebibyte);
  EXPECT_EQ(to_text(memory_limit({}, root.path())), "32 MiB, set by the cgroup");
}

TEST(MemoryLimit, ReadsTheOlderHierarchies) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "9:memory:/job\n4:cpu,cpuacct:/job\n");
  // The greatest number of pages, which means that there is no limit.
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_limit({}, root.path()).source, "the machine");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "33554432\n");
  EXPECT_EQ(memory_limit({}, root.path()).bytes, 32 * mebibyte);
}

TEST(MemoryLimit, ReadsSlurmsVariables) {
  const TemporaryFolder root;
  EXPECT_EQ(to_text(memory_limit({{"SLURM_MEM_PER_NODE", "50"}}, root.path())),
            "50 MiB, set by Slurm");
  EXPECT_EQ(
      memory_limit({{"SLURM_MEM_PER_CPU", "7"}, {"SLURM_CPUS_ON_NODE", "3"}}, root.path()).bytes,
      21 * mebibyte);
  for (const char* all : {"0", "", "a lot", "-5"}) {
    EXPECT_EQ(memory_limit({{"SLURM_MEM_PER_NODE", all}}, root.path()).source, "the machine");
  }
  EXPECT_EQ(memory_limit({{"SLURM_MEM_PER_CPU", "7"}}, root.path()).source, "the machine");
}

TEST(MemoryLimit, TheLowerOfGroupAndSlurmCounts) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/memory.max", "33554432\n");
  EXPECT_EQ(memory_limit({{"SLURM_MEM_PER_NODE", "31"}}, root.path()).source, "Slurm");
  EXPECT_EQ(memory_limit({{"SLURM_MEM_PER_NODE", "33"}}, root.path()).source, "the cgroup");
}

TEST(MemoryLimit, PacketsThatFillItAreRefused) {
  const MemoryLimit limit{2048 * mebibyte, "Slurm"};
  EXPECT_NO_THROW(refuse_larger((std::int64_t{2048} << 20) - 1, limit));
  EXPECT_REFUSED(
      refuse_larger(std::int64_t{2048} << 20, limit), Fault::configuration,
      "packets of 2,048 MiB, which `bytes` of [limits] allows, do not fit into this "
      "process's memory (2,048 MiB, set by Slurm); lower `bytes`, for example to 256 MiB");
}

}  // namespace seam::host::memory_limit_test
