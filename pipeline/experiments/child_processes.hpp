/// Processes that this one starts and waits for, together with the signals that ask it to stop.
///
///     start ──► child ──► wait() ──► how it ended
///     Ctrl-C, SIGTERM, SIGHUP ─────► wait() ──► a request to stop
///
/// A child is sent SIGTERM when this process dies, however it dies, so none is left behind.
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
  std::filesystem::path folder;  ///< it works in
  std::map<std::string, std::string> environment;
  std::filesystem::path output;  ///< what it prints is added to this file
};

struct ChildEnd {
  int id = 0;  ///< as start() was given it
  int exit_code = -1;
  int signal = 0;  ///< that ended it; 0: none
};

class ChildProcesses {
 public:
  /// Blocks the signals until it goes; to be made before there are other threads.
  ChildProcesses();
  /// Ends the children that are left.
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;
  ChildProcesses(ChildProcesses&&) = delete;
  ChildProcesses& operator=(ChildProcesses&&) = delete;

  /// Throws seam::Error (data) where it cannot be started.
  void start(int id, const ChildCommand& command);
  [[nodiscard]] std::size_t running() const { return children_.size(); }

  /// Whether a request to stop waits to be heard.
  [[nodiscard]] static bool stop_pending();

  struct Event {
    std::optional<ChildEnd> end;  ///< none: a request to stop
    int requests = 0;             ///< how many there were so far
  };
  /// Waits for the next one. A request to stop has been passed on to all children by then.
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
