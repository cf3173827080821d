#include "pipeline/run/freed_memory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>

namespace seam::host {
namespace {

/// Without the caller's own settings, which come back afterwards.
class FreedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __GLIBC__
    GTEST_SKIP() << "only glibc's malloc is set";
#endif
    for (Variable& variable : variables_) {
      if (const char* present = std::getenv(variable.name)) variable.value = present;
      ::unsetenv(variable.name);
    }
  }
  void TearDown() override {
    for (const Variable& variable : variables_) {
      ::unsetenv(variable.name);
      if (variable.value) ::setenv(variable.name, variable.value->c_str(), 1);
    }
  }

 private:
  struct Variable {
    const char* name;
    std::optional<std::string> value;
  };
  std::array<Variable, 3> variables_{{{"GLIBC_TUNABLES", std::nullopt},
                                      {"MALLOC_TRIM_THRESHOLD_", std::nullopt},
                                      {"MALLOC_MMAP_THRESHOLD_", std::nullopt}}};
};

TEST_F(FreedMemoryTest, IsKept) {
  EXPECT_EQ(freed_memory_choice(), FreedMemory::kept);
  EXPECT_EQ(keep_freed_memory(), FreedMemory::kept);
}

TEST_F(FreedMemoryTest, TheUsersSettingsOfMallocHold) {
  ::setenv("MALLOC_TRIM_THRESHOLD_", "131072", 1);
  EXPECT_EQ(keep_freed_memory(), FreedMemory::of_user);
  ::unsetenv("MALLOC_TRIM_THRESHOLD_");
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=2", 1);
  EXPECT_EQ(keep_freed_memory(), FreedMemory::of_user);
}

TEST_F(FreedMemoryTest, OtherTunablesSayNothingOfIt) {
  ::setenv("GLIBC_TUNABLES", "glibc.pthread.mutex_spin_count=5", 1);
  EXPECT_EQ(freed_memory_choice(), FreedMemory::kept);
}

}  // namespace
}  // namespace seam::host
