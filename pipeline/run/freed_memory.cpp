#include "pipeline/run/freed_memory.hpp"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace seam::host {
namespace {

/// Empty if the variable is not set.
std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before other threads
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::string_view describe(FreedMemory choice) {
  switch (choice) {
    case FreedMemory::kept:
      return "up to 1 GiB is kept for the next batch";
    case FreedMemory::of_user:
      return "as configured by your environment";
    case FreedMemory::unknown:
      break;
  }
  return "the system's malloc default";
}

FreedMemory freed_memory_choice() {
#ifdef __GLIBC__
  for (const char* variable :
       {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX"}) {
    if (!environment(variable).empty()) return FreedMemory::of_user;
  }
  if (environment("GLIBC_TUNABLES").find("glibc.malloc.") != std::string_view::npos) {
    return FreedMemory::of_user;
  }
  return FreedMemory::kept;
#else
  return FreedMemory::unknown;
#endif
}

FreedMemory keep_freed_memory() {
  const FreedMemory choice = freed_memory_choice();
#ifdef __GLIBC__
  constexpr int one_gib = 1 << 30;
  if (choice == FreedMemory::kept &&
      (mallopt(M_TRIM_THRESHOLD, one_gib) == 0 || mallopt(M_MMAP_THRESHOLD, one_gib) == 0 ||
       mallopt(M_ARENA_MAX, 1) == 0)) {
    return FreedMemory::unknown;
  }
#endif
  return choice;
}

}  // namespace seam::host
