/// Wakes sources that wait for input when the flow should end.
///
/// Source::interrupt() is plugin code and may take time. A flow fails or halts on a thread that
/// others need, so a separate thread interrupts the sources. Two threads never interrupt at once.
#pragma once

#include <mutex>
#include <thread>
#include <vector>

#include "seam/runner.hpp"

namespace seam::host {

class Interrupter {
 public:
  /// Interrupts the sources among these stages, which outlive this object.
  explicit Interrupter(const std::vector<StageRunner*>& stages);

  /// Interrupts on this thread, after another thread that is interrupting.
  void interrupt();
  /// Interrupts on another thread; at most one call.
  void interrupt_elsewhere() noexcept;
  /// Waits until no source is being interrupted elsewhere; to be called before the stages are
  /// closed.
  void wait();

 private:
  std::vector<const StageRunner*> sources_;
  std::mutex mutex_;
  std::jthread elsewhere_;  // last: joined before the others are destroyed
};

}  // namespace seam::host
