#include "pipeline/graph/work_thread.hpp"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <utility>

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

 private:
  std::unique_ptr<std::byte[]> memory_;  // NOLINT(*-avoid-c-arrays)
};

}  // namespace

void use_alternate_stack() {
  thread_local const AlternateStack stack;
}

WorkThread::WorkThread() : thread_([this] { loop(); }) {}

WorkThread::~WorkThread() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void WorkThread::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void WorkThread::run(const std::function<void()>& work) {
  if (std::this_thread::get_id() == thread_.get_id()) return work();
  std::promise<void> done;
  post([&] {
    try {
      work();
      done.set_value();
    } catch (...) {  // rethrown to the caller
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

double WorkThread::take_idle_seconds() {
  const std::lock_guard lock(mutex_);
  return std::exchange(idle_seconds_, 0.0);
}

void WorkThread::loop() {
  use_alternate_stack();
  std::unique_lock lock(mutex_);
  while (true) {
    if (queue_.empty() && !closing_) {
      const auto from = std::chrono::steady_clock::now();
      wake_.wait(lock, [this] { return !queue_.empty() || closing_; });
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - from;
      idle_seconds_ += waited.count();
    }
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // may free a ticket, so not under the lock
    lock.lock();
  }
}

}  // namespace seam::host
