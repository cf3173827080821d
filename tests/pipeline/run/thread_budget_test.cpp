#include "pipeline/run/thread_budget.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>

#include "tests/support/kept_environment.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::thread_budget_test {

using seam::test::TemporaryFolder;

TEST(ThreadBudget, TheCommandLineComesFirstThenTheFileThenTheMachine) {
  const CoreCount cores{6, std::nullopt};
  EXPECT_EQ(thread_budget(3, 4, cores), 3);
  EXPECT_EQ(thread_budget(std::nullopt, 4, cores), 4);
  EXPECT_EQ(thread_budget(std::nullopt, std::nullopt, cores), 6);
}

TEST(CoreCount, TheQuotaLimitsTheAffinity) {
  EXPECT_EQ((CoreCount{8, 2.5}).usable(), 2);
  EXPECT_EQ((CoreCount{8, 0.5}).usable(), 1);
  EXPECT_EQ((CoreCount{8, 64.0}).usable(), 8);
  EXPECT_EQ((CoreCount{0, std::nullopt}).usable(), 1);
}

TEST(CoreCount, CountsTheCoresThatThisProcessMayUse) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof(cores), &cores) != 0) {
    GTEST_SKIP() << "more than 1,024 cores";
  }
  EXPECT_EQ(count_cores().affinity, CPU_COUNT(&cores));
  cpu_set_t first;
  CPU_ZERO(&first);
  int core = 0;
  while (!CPU_ISSET(core, &cores)) ++core;
  CPU_SET(core, &first);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(first), &first), 0);
  EXPECT_EQ(count_cores().affinity, 1);
  ::sched_setaffinity(0, sizeof(cores), &cores);
}

TEST(CoreCount, ReadsTheTightestQuotaOfItsGroups) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/user/job\n");
  root.write("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(count_cores(root.path()).quota, std::nullopt);
  root.write("sys/fs/cgroup/user/cpu.max", "350000 100000\n");
  EXPECT_EQ(count_cores(root.path()).quota, 3.5);
  root.write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(count_cores(root.path()).quota, 1.0);
}

TEST(CoreCount, ReadsQuotasOfTheOlderHierarchies) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(count_cores(root.path()).quota, std::nullopt);
  root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(count_cores(root.path()).quota, 1.5);
}

TEST(CoreCount, NonsenseIsNoQuota) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/\nnonsense\n\n");
  root.write("sys/fs/cgroup/cpu.max", "lots\n");
  EXPECT_EQ(count_cores(root.path()).quota, std::nullopt);
}

TEST(ThreadBudget, IsToldToTheLibraries) {
  const seam::test::KeptEnvironment environment;
  obey_thread_budget(3);
  for (const std::string_view variable : thread_variables) {
    EXPECT_STREQ(std::getenv(std::string(variable).c_str()), "3");
  }
}

/// Removes the variables that control how libgomp spins.
class SpinPolicyTest : public ::testing::Test {
 protected:
  SpinPolicyTest() {
    ::unsetenv("OMP_WAIT_POLICY");
    ::unsetenv("GOMP_SPINCOUNT");
  }

 private:
  seam::test::KeptEnvironment environment_;
};

TEST_F(SpinPolicyTest, IdleThreadsSpinShortly) {
  EXPECT_FALSE(spin_policy().of_user);
  obey_thread_budget(2);
  EXPECT_STREQ(std::getenv("GOMP_SPINCOUNT"), "1000");
  EXPECT_EQ(std::getenv("OMP_WAIT_POLICY"), nullptr);
}

TEST_F(SpinPolicyTest, TheUsersWaitPolicyIsKept) {
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  EXPECT_TRUE(spin_policy().of_user);
  EXPECT_EQ(spin_policy().variable, "OMP_WAIT_POLICY");
  EXPECT_EQ(spin_policy().value, "active");
  obey_thread_budget(2);
  EXPECT_EQ(std::getenv("GOMP_SPINCOUNT"), nullptr);  // it would override the policy
}

TEST_F(SpinPolicyTest, TheUsersSpinCountIsKept) {
  ::setenv("GOMP_SPINCOUNT", "77", 1);
  EXPECT_TRUE(spin_policy().of_user);
  obey_thread_budget(2);
  EXPECT_STREQ(std::getenv("GOMP_SPINCOUNT"), "77");
}

}  // namespace seam::host::thread_budget_test
