/// Turns signals, and a time limit, into requests to stop.
///
///     first    soon: the flow ends at its next point (FlowKeeper), what is under way is discarded
///     second   cancel: what is under way ends too; a second later, whatever does not
///     third    the process dies by the signal, as if nobody watched
///
/// The signals are those with which people, service managers and schedulers end a job: SIGINT,
/// SIGTERM, SIGHUP (a closed terminal), SIGUSR1 and SIGUSR2 (Slurm, Grid Engine), SIGXCPU (a limit
/// of processor time).
///
/// A thread of its own waits for them. What is done on them may take locks, print and call
/// plugins, so it is done on a second thread: whatever hangs there, the next signal is seen.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "pipeline/graph/flow.hpp"

namespace seam::host {

/// The signals above; SIGHUP only if it is not ignored, as under nohup.
[[nodiscard]] sigset_t stop_signal_set();

/// Counts requests. Signals within a moment are one request: `timeout` sends its SIGTERM to the
/// program and to its whole process group, and systemd a SIGHUP behind it. SIGXCPU comes every
/// second from the limit on, and is one request.
class RequestCount {
 public:
  /// How many requests there were with this one; 0 where it is none of its own.
  int note(int signal, std::chrono::steady_clock::time_point now);

 private:
  int count_ = 0;
  bool counted_cpu_limit_ = false;
  std::chrono::steady_clock::time_point last_request_;
};

/// What became of a request.
enum class StopNotice : std::uint8_t {
  asked,      ///< to stop soon
  cancelled,  ///< by a second signal
  time_is_up,
  overrun,  ///< the run has not stopped in its time of grace, and is cancelled
};

/// How long a run may go on when its time is up, to end its step and write a checkpoint: a tenth of
/// the limit, from 5 to 60 seconds.
[[nodiscard]] std::chrono::milliseconds grace_of(std::chrono::milliseconds limit);

class StopSignals {
 public:
  /// Keeps the signals from the calling thread and from those it makes. To be called before there
  /// are others: a signal goes to any thread that does not block it, and ends the process.
  static void block();

  /// Blocks and watches. On another thread `told` is called, and the sources of the flow are
  /// interrupted; `overdue` is called where this object still lives a second after the run was
  /// cancelled, and should end the process: three seconds later that is done without it, with
  /// `exit_code`. Also ignores SIGPIPE, so that a closed pipe behind the standard output does not
  /// end a run.
  StopSignals(StopState& stop, std::optional<std::chrono::milliseconds> time_limit, int exit_code,
              std::function<void(StopNotice)> told, std::function<void()> overdue);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  StopSignals(StopSignals&&) = delete;
  StopSignals& operator=(StopSignals&&) = delete;

 private:
  class Errands;
  class Deadlines;
  void watch();
  void ask_to_stop(StopNotice notice);
  void cancel(StopNotice notice, Deadlines& deadlines);
  void time_passed(Deadlines& deadlines);
  void signalled(int count, int signal, Deadlines& deadlines);

  StopState& stop_;  // the caller's, outlives this object
  std::optional<std::chrono::milliseconds> time_limit_;
  int exit_code_;
  std::function<void(StopNotice)> told_;
  std::function<void()> overdue_;
  std::shared_ptr<Errands> errands_;
  int wake_;  // an eventfd: ends the thread
  int signals_;
  std::thread thread_;
};

}  // namespace seam::host
