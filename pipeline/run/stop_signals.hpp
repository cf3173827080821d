/// Turns SIGINT, SIGTERM and SIGHUP (a closed terminal) into requests to stop.
///
///     first    soon: the flow ends at its next point (FlowKeeper), what is under way is discarded
///     second   cancel: what is under way ends too; a second later, whatever does not
///     third    the process dies by the signal, as if nobody watched
///
/// A thread of its own waits for the signals. What is done on them may take locks, print and call
/// plugins, so it is done on a second thread: whatever hangs there, the next signal is seen.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "pipeline/graph/flow.hpp"

namespace seam::host {

/// Counts requests. The same signal again within a moment is the same request: `timeout` sends its
/// SIGTERM to the program and to its whole process group.
class RequestCount {
 public:
  /// How many requests there were with this one; 0 where it is none of its own.
  int note(int signal, std::chrono::steady_clock::time_point now);

 private:
  int count_ = 0;
  int last_signal_ = 0;
  std::chrono::steady_clock::time_point last_time_;
};

class StopSignals {
 public:
  /// Keeps the signals from the calling thread and from those it makes. To be called before there
  /// are others: a signal goes to any thread that does not block it, and ends the process.
  static void block();

  /// Blocks and watches. On another thread `told` is called with 1 or 2, and the sources of the
  /// flow are interrupted; `overdue` is called where this object still lives a second after the
  /// second request, and should end the process: three seconds later that is done without it. Also
  /// ignores SIGPIPE, so that a closed pipe behind the standard output does not end a run.
  StopSignals(StopState& stop, std::function<void(int count)> told, std::function<void()> overdue);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  StopSignals(StopSignals&&) = delete;
  StopSignals& operator=(StopSignals&&) = delete;

 private:
  class Errands;
  void watch();

  StopState& stop_;  // the caller's, outlives this object
  std::function<void(int)> told_;
  std::function<void()> overdue_;
  std::shared_ptr<Errands> errands_;
  int wake_;  // an eventfd: ends the thread
  int signals_;
  std::thread thread_;
};

}  // namespace seam::host
