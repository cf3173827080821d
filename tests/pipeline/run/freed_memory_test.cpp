#include "pipeline/run/freed_memory.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

#include "seam/plugin.hpp"
#include "tests/support/kept_environment.hpp"

namespace seam::host::freed_memory_test {

/// Removes the caller's settings.
class FreedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef __GLIBC__
    GTEST_SKIP() << "only glibc's malloc is configured";
#endif
    for (const char* name : {"GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_",
                             "MALLOC_ARENA_MAX"}) {
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

/// Page faults of this thread while it fills fresh memory that exceeds a thread's own arena.
std::int64_t faults_of_a_batch() {
  constexpr std::size_t size = std::size_t{100} << 20U;
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_THREAD, &before);
  const std::unique_ptr<char, decltype(&std::free)> memory(static_cast<char*>(std::malloc(size)),
                                                           &std::free);
  constexpr std::size_t page = 4096;
  for (std::size_t at = 0; at < size; at += page) static_cast<volatile char*>(memory.get())[at] = 1;
  ::getrusage(RUSAGE_THREAD, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST_F(FreedMemoryTest, OtherThreadsKeepLargeBlocksAsWell) {
  if (std::string_view(SEAM_SANITIZER) != "none")
    GTEST_SKIP() << "sanitizers allocate by themselves";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process: no thread has an arena yet
  EXPECT_EXIT(
      {
        keep_freed_memory();
        std::int64_t again = 0;
        std::thread([&again] {
          faults_of_a_batch();
          again = faults_of_a_batch();
        }).join();
        constexpr std::int64_t few = 1'000;  // of 25,600 pages
        std::_Exit(again < few ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(FreedMemoryTest, TheUsersSettingsOfMallocHold) {
  for (const char* variable :
       {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX"}) {
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

}  // namespace seam::host::freed_memory_test
