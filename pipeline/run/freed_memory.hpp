/// Keeps freed memory in the process, so that the next batch finds its pages mapped.
///
/// A training step frees and allocates the same hundreds of MiB of tensors again and again. glibc
/// returns large blocks to the kernel, which maps and zeroes them again for the next step: up to a
/// tenth of a run's CPU time. Each thread except the first has its own arena, with heaps of at most
/// 64 MiB, so that every larger tensor of the compute thread is mapped and unmapped. Therefore all
/// threads share the first arena. Five training steps of SCCapsNet at 256x256 pixels then take 3 s
/// of system time instead of 9 s, of 35 s in total on two cores.
#pragma once

#include <string_view>

namespace seam::host {

enum class FreedMemory {
  kept,     ///< set by this program
  of_user,  ///< the user's environment configures malloc
  unknown   ///< not glibc, or it rejects the settings: its default
};

/// A description for users.
[[nodiscard]] std::string_view describe(FreedMemory choice);

/// Tells glibc's malloc to keep up to 1 GiB of freed memory and to map only larger blocks
/// separately, and to have one arena, unless the environment sets GLIBC_TUNABLES' glibc.malloc.*,
/// MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or MALLOC_ARENA_MAX. To be called before the
/// process has other threads, because threads that have an arena keep it.
FreedMemory keep_freed_memory();

/// What keep_freed_memory() would do.
[[nodiscard]] FreedMemory freed_memory_choice();

}  // namespace seam::host
