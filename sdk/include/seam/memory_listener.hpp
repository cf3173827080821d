// SPDX-License-Identifier: Apache-2.0
/// Memory of tensors, for the host's table by stage.
///
///     LibTorch allocates 4,096 bytes ──► allocated(4096)     frees them ──► allocated(-4096)
#pragma once

#include <cstdint>

namespace seam {

/// Called on the thread that allocates or frees, for all devices.
class MemoryListener {
 public:
  MemoryListener() = default;
  virtual ~MemoryListener() = default;
  MemoryListener(const MemoryListener&) = delete;
  MemoryListener& operator=(const MemoryListener&) = delete;
  MemoryListener(MemoryListener&&) = delete;
  MemoryListener& operator=(MemoryListener&&) = delete;
  /// `bytes`: negative if they were freed.
  virtual void allocated(std::int64_t bytes) = 0;
};

}  // namespace seam
