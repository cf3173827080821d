/// Processes that this one starts and waits for, together with the signals that ask it to stop.
///
///     start ──► child ──► wait() ──► how it ended
///     Ctrl-C, SIGTERM, SIGHUP ─────► wait() ──► a request to stop
///
/// Children receive SIGTERM when this process dies for any reason, so none is orphaned.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/run/stop_signals.hpp"

namespace seam::host {

struct ChildCommand {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::filesystem::path folder;  ///< its working directory
  std::map<std::string, std::string> environment;
  std::filesystem::path output;  ///< its output is appended to this file
};

struct ChildEnd {
  int id = 0;  ///< as passed to start()
  int exit_code = -1;
  int signal = 0;  ///< that killed it; 0: none
};

class ChildProcesses {
 public:
  /// Blocks the signals during its lifetime; create it before there are other threads.
  ChildProcesses();
  /// Ends the remaining children.
  ~ChildProcesses();
  ChildProcesses& operator=(ChildProcesses&&) = delete;  // not copyable

  /// Throws seam::Error (data) if it cannot be started.
  void start(int id, const ChildCommand& command);
  [[nodiscard]] std::size_t running() const { return children_.size(); }

  /// Whether a request to stop is pending.
  [[nodiscard]] static bool stop_pending();

  struct Event {
    std::optional<ChildEnd> end;  ///< none: a request to stop
    int requests = 0;             ///< number of requests so far
  };
  /// Waits for the next event. A request to stop has then been passed on to all children.
  Event wait();

 private:
  std::optional<ChildEnd> ended();
  void pass_on(int signal) const;

  std::map<pid_t, int> children_;
  sigset_t before_{};
  int signals_ = -1;
  RequestCount counter_;
  int requests_ = 0;
};

}  // namespace seam::host
