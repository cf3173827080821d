#include "pipeline/run/freed_memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/kept_environment.hpp"

namespace seam::host {
namespace freed_memory_test {

/// Begins without the caller's own settings.
class FreedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef __GLIBC__
    GTEST_SKIP() << "only glibc's malloc is set";
#endif
    for (const char* name :
         {"GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"}) {
      ::unsetenv(name);
    }
  }

 private:
  seam::test::KeptEnvironment environment_;
};

TEST_F(FreedMemoryTest, IsKept) {
  EXPECT_EQ(freed_memory_choice(), FreedMemory::kept);
  EXPECT_EQ(keep_freed_memory(), FreedMemory::kept);
}

TEST_F(FreedMemoryTest, TheUsersSettingsOfMallocHold) {
  for (const char* variable : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"}) {
    ::setenv(variable, "131072", 1);
    EXPECT_EQ(keep_freed_memory(), FreedMemory::of_user) << variable;
    ::unsetenv(variable);
  }
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=2", 1);
  EXPECT_EQ(keep_freed_memory(), FreedMemory::of_user);
}

TEST_F(FreedMemoryTest, OtherTunablesSayNothingOfIt) {
  ::setenv("GLIBC_TUNABLES", "glibc.pthread.mutex_spin_count=5", 1);
  EXPECT_EQ(freed_memory_choice(), FreedMemory::kept);
}

}  // namespace freed_memory_test
}  // namespace seam::host
