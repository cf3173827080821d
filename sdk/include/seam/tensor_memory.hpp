// SPDX-License-Identifier: Apache-2.0
/// Counts the memory of the process's tensors, for the host's table by stage:
///
///     LibTorch ──► CountingAllocator ──► allocated(), freed() ──► take()  ──► host
///
/// Tensors of the compute thread's calls and those that other stages prepare meanwhile are counted
/// separately. All threads count as the compute thread's, such as LibTorch's workers and those of a
/// plugin, except while the host calls other stages on them.
#pragma once

#include <cstdint>

#include "seam/export.hpp"

namespace seam::tensor_memory {

/// Who allocated a block, whichever thread frees it.
enum class Owner : std::uint8_t {
  compute,  ///< the compute thread, or a thread that works for it
  other     ///< the call of a different stage
};

/// Whether the caller is the first in this process: only that one counts.
[[nodiscard]] SEAM_EXPORT bool claim();
/// Counts a block for the calling thread's owner, which freed() needs.
[[nodiscard]] SEAM_EXPORT Owner allocated(std::int64_t bytes);
SEAM_EXPORT void freed(std::int64_t bytes, Owner owner);

/// In bytes.
struct Level {
  std::int64_t now = 0;
  std::int64_t most = 0;  ///< since the last take()
};

struct Levels {
  Level compute;  ///< tensors of Owner::compute
  Level all;
};

[[nodiscard]] SEAM_EXPORT Levels take();

/// The owner of what the calling thread allocates during its lifetime.
class SEAM_EXPORT OwnerScope {
 public:
  explicit OwnerScope(Owner owner);
  ~OwnerScope();
  OwnerScope(const OwnerScope&) = delete;
  OwnerScope& operator=(const OwnerScope&) = delete;

 private:
  Owner before_;
};

}  // namespace seam::tensor_memory
