/// A thread that works through a queue.
///
///     compute thread   all tensor work of a run: OpenMP keeps a pool of threads per calling thread
///                      and LibTorch keeps the gradient mode per thread, so on TBB's workers each
///                      worker would get its own pool
///     a source         one per source of a flow, because it may wait and a TBB worker must not
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace seam::host {

/// Gives the calling thread a stack for signal handlers for its lifetime, so that a stack overflow
/// can still be reported. Further calls do nothing. A WorkThread calls it by itself.
void use_alternate_stack();

class WorkThread {
 public:
  WorkThread();
  /// Finishes the queued work.
  ~WorkThread();

  /// Queues work, which must not throw.
  void post(std::function<void()> work);
  /// Runs work and waits for it; rethrows its exceptions. Runs it directly if called on this
  /// thread.
  void run(const std::function<void()>& work);
  /// Seconds spent waiting for work since the last call.
  double take_idle_seconds();

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool closing_ = false;
  double idle_seconds_ = 0;
  std::thread thread_;
};

}  // namespace seam::host
