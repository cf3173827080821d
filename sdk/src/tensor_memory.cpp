#include "seam/tensor_memory.hpp"

#include <algorithm>
#include <atomic>

namespace seam::tensor_memory {
namespace {

class Count {
 public:
  void add(std::int64_t bytes) {
    const std::int64_t now = now_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::int64_t most = most_.load(std::memory_order_relaxed);
    while (most < now && !most_.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }
  Level take() {
    const std::int64_t now = now_.load(std::memory_order_relaxed);
    return {now, std::max(now, most_.exchange(now, std::memory_order_relaxed))};
  }

 private:
  std::atomic<std::int64_t> now_ = 0;
  std::atomic<std::int64_t> most_ = 0;
};

// A process has one LibTorch with one allocator, so there is one count.
constinit Count of_compute;
constinit Count of_all;
constinit std::atomic_flag claimed;
thread_local Owner owner_of_thread = Owner::compute;

}  // namespace

bool claim() {
  return !claimed.test_and_set();
}

Owner allocated(std::int64_t bytes) {
  of_all.add(bytes);
  if (owner_of_thread == Owner::compute) of_compute.add(bytes);
  return owner_of_thread;
}

void freed(std::int64_t bytes, Owner owner) {
  of_all.add(-bytes);
  if (owner == Owner::compute) of_compute.add(-bytes);
}

Levels take() {
  return {of_compute.take(), of_all.take()};
}

OwnerScope::OwnerScope(Owner owner) : before_(owner_of_thread) {
  owner_of_thread = owner;
}

OwnerScope::~OwnerScope() {
  owner_of_thread = before_;
}

}  // namespace seam::tensor_memory
