// SPDX-License-Identifier: Apache-2.0
/// LibTorch's allocator for CPUs, with a count of the bytes (tensor_memory.hpp). A record precedes
/// each tensor:
///
///     │ Record │ tensor │
///     ▲        ▲ pointer for LibTorch, with the block's alignment
///     a block of LibTorch's own allocator
///
/// The count is exact for any thread that allocates or frees, and no profiler needs to run.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/alignment.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "seam/tensor_memory.hpp"

namespace seam::detail {

class CountingAllocator final : public c10::Allocator {
 public:
  /// `blocks` must outlive it and all tensors.
  explicit CountingAllocator(c10::Allocator& blocks) : blocks_(blocks) {}

  // Without `override`, because LibTorch declares only one of the first two, depending on its
  // version, and copy_data() since 2.3.
  // NOLINTBEGIN(*-use-override, *-explicit-virtual-functions)
  c10::DataPtr allocate(std::size_t bytes) { return counted(bytes); }
  c10::DataPtr allocate(std::size_t bytes) const { return counted(bytes); }
  c10::DeleterFnPtr raw_deleter() const { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  // NOLINTEND(*-use-override, *-explicit-virtual-functions)

 private:
  struct Record {
    std::int64_t bytes;
    tensor_memory::Owner owner;
    c10::DeleterFnPtr free;  ///< of LibTorch's own allocator, with its argument
    void* context;
  };
  static constexpr std::size_t before = c10::gAlignment;
  static_assert(sizeof(Record) <= before);

  c10::DataPtr counted(std::size_t bytes) const {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    // LibTorch rejects a size that would overflow.
    c10::DataPtr block = blocks_.allocate(std::max(bytes, bytes + before));
    const auto size = static_cast<std::int64_t>(bytes);
    auto* const record = new (block.get())
        Record{size, tensor_memory::allocated(size), block.get_deleter(), nullptr};
    void* const data = static_cast<std::byte*>(block.get()) + before;
    record->context = block.release_context();
    return {data, data, &release, cpu};
  }
  static void release(void* data) {
    if (data == nullptr) return;
    void* const block = static_cast<std::byte*>(data) - before;
    const Record record = *static_cast<const Record*>(block);
    tensor_memory::freed(record.bytes, record.owner);
    record.free(record.context);
  }

  c10::Allocator& blocks_;
};

/// From now on counts new tensors on the CPU, once per process. To be called while no other thread
/// uses LibTorch.
inline void count_tensor_memory() {
  if (!tensor_memory::claim()) return;
  // Never destroyed, because tensors may be freed until the process ends.
  static auto* const allocator =
      new CountingAllocator(*c10::GetAllocator(c10::DeviceType::CPU));  // NOLINT(*-owning-memory)
  c10::SetAllocator(c10::DeviceType::CPU, allocator);
}

}  // namespace seam::detail
