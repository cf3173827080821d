/// Keeps freed memory in the process, so that the next batch finds its pages mapped.
///
/// A training step frees and allocates the same hundreds of MiB of tensors again and again. glibc
/// gives large blocks back to the kernel, which maps and zeroes them anew for the next step: up to
/// a tenth of a run's CPU time. Other threads than the first have arenas of their own, whose heaps
/// end at 64 MiB, so that every larger tensor of the compute thread is mapped and unmapped: all
/// threads share the first arena instead. Five training steps of SCCapsNet at 256x256 pixels then
/// take 3 s of system time instead of 9, of 35 s in all on two cores.
#pragma once

#include <string_view>

namespace seam::host {

enum class FreedMemory {
  kept,     ///< by this program's choice
  of_user,  ///< the user's environment sets thresholds of malloc's: they hold
  unknown   ///< not glibc, or it refuses: its default
};

/// As a user reads it.
[[nodiscard]] std::string_view describe(FreedMemory choice);

/// Tells glibc's malloc to keep up to 1 GiB of freed memory and to map only larger blocks
/// separately, and to have one arena, unless the environment sets GLIBC_TUNABLES' glibc.malloc.*,
/// MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or MALLOC_ARENA_MAX. Before the process has other
/// threads: those that have an arena keep it.
FreedMemory keep_freed_memory();

/// What it would do.
[[nodiscard]] FreedMemory freed_memory_choice();

}  // namespace seam::host
