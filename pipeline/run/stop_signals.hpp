/// Turns signals, and a time limit, into stop requests.
///
///     first    soon: the flow ends at its next point (FlowKeeper); packets in flight are discarded
///     second   cancel: current calls should end too; after a second, the process ends
///     third    the process ends by the signal, as without a handler
///
/// The signals are those with which users, service managers and schedulers end a job: SIGINT,
/// SIGTERM, SIGHUP (a closed terminal), SIGUSR1 and SIGUSR2 (Slurm, Grid Engine), SIGXCPU (a limit
/// of processor time).
///
/// A separate thread waits for them. The handlers may take locks, print and call plugins, so they
/// run on a second thread: even if one hangs, the next signal is still handled.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "pipeline/graph/flow.hpp"

namespace seam::host {

/// The signals above; SIGHUP only if it is not ignored, as under nohup.
[[nodiscard]] sigset_t stop_signal_set();

/// Counts requests. Signals in quick succession are one request: `timeout` sends its SIGTERM to the
/// program and to its whole process group, and systemd sends a SIGHUP afterwards. SIGXCPU is sent
/// every second after the limit, and counts as one request.
class RequestCount {
 public:
  /// Returns the number of requests including this one; 0 if the signal is not a new request.
  int note(int signal, std::chrono::steady_clock::time_point now);

 private:
  int count_ = 0;
  bool counted_cpu_limit_ = false;
  std::chrono::steady_clock::time_point last_request_;
};

/// The effect of a request.
enum class StopNotice : std::uint8_t {
  asked,      ///< to stop soon
  cancelled,  ///< by a second signal
  time_is_up,
  overrun,  ///< the run did not stop within its grace period, and is cancelled
};

/// Parses a time limit on the command line, "3h", "90m", "45s" or "1h30m": whole numbers, the
/// larger unit first; at least a second.
[[nodiscard]] std::optional<std::chrono::seconds> duration_of(std::string_view text);

/// The grace period of a run after its time limit, to end its step and write a checkpoint: a tenth
/// of the limit, from 5 to 60 seconds.
[[nodiscard]] std::chrono::milliseconds grace_of(std::chrono::milliseconds limit);

class StopSignals {
 public:
  /// Blocks the signals in the calling thread and in those it creates. To be called before there
  /// are other threads: a signal goes to any thread that does not block it, and ends the process.
  static void block();

  /// Blocks the signals and waits for them. Another thread calls `told` and interrupts the sources
  /// of the flow. If this object still exists a second after the run was cancelled, `overdue` is
  /// called and should end the process; three seconds later, the process ends with `exit_code`
  /// anyway. Also ignores SIGPIPE, so that a closed pipe at standard output does not end a run.
  StopSignals(StopState& stop, std::optional<std::chrono::milliseconds> time_limit, int exit_code,
              std::function<void(StopNotice)> told, std::function<void()> overdue);
  ~StopSignals();

 private:
  class Errands;
  class Deadlines;
  void watch();
  void ask_to_stop(StopNotice notice);
  void cancel(StopNotice notice, Deadlines& deadlines);
  void time_passed(Deadlines& deadlines);

  StopState& stop_;  // outlives this object
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
