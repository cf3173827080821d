#include "pipeline/graph/alternate_stack.hpp"

#include <csignal>
#include <cstddef>
#include <memory>

namespace seam::host {
namespace {

class AlternateStack {
 public:
  AlternateStack() {
    stack_t before{};
    ::sigaltstack(nullptr, &before);
    if ((before.ss_flags & SS_DISABLE) == 0) return;  // a sanitizer has set one
    constexpr std::size_t size = std::size_t{64} << 10U;
    memory_ = std::make_unique<std::byte[]>(size);  // NOLINT(*-avoid-c-arrays): for the C API
    stack_t stack{};
    stack.ss_sp = memory_.get();
    stack.ss_size = size;
    ::sigaltstack(&stack, nullptr);
  }
  ~AlternateStack() {
    if (!memory_) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;
  AlternateStack(AlternateStack&&) = delete;
  AlternateStack& operator=(AlternateStack&&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;  // NOLINT(*-avoid-c-arrays)
};

}  // namespace

void use_alternate_stack() {
  thread_local const AlternateStack stack;
}

}  // namespace seam::host
