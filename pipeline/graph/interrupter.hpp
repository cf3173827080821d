/// Wakes sources that wait for input when the flow is to end.
///
/// Source::interrupt() is a plugin's code and may take its time: a failure is met on a thread that
/// others need, so it asks for a thread of its own. Two threads never interrupt at once.
#pragma once

#include <mutex>
#include <thread>
#include <vector>

#include "seam/runner.hpp"

namespace seam::host {

class Interrupter {
 public:
  /// Of these stages the sources are interrupted; they outlive this object.
  explicit Interrupter(const std::vector<StageRunner*>& stages);

  /// Interrupts from this thread, when no other thread does.
  void interrupt();
  /// Interrupts from another thread; at most one call.
  void interrupt_elsewhere() noexcept;
  /// Returns when no source is being interrupted elsewhere; before the stages are closed.
  void wait();

 private:
  std::vector<const StageRunner*> sources_;
  std::mutex mutex_;
  std::jthread elsewhere_;  // last: joined before the others go
};

}  // namespace seam::host
