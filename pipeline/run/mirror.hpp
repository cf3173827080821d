/// Copies a run's files to another place during the run, with a command of the user.
///
///     checkpoint written, flow ended ──► push: new and changed files ──► queue ──► COMMAND
///                                                                          one at a time
///
/// The command is a shell's, with the file's path in $1 and its name in the run folder in $2. It
/// has three attempts per file, or one if it has just failed for the file before. Files for which
/// it has failed are tried again when they change, and at the end. Failures are warnings; they
/// never end the run.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace seam::host {

class Mirror final {
 public:
  /// Names are relative to `base`, which contains `folder` or is the same. `warn` is called by the
  /// mirror's thread.
  Mirror(std::string command, std::filesystem::path folder, std::filesystem::path base,
         std::function<void(const std::string&)> warn);
  /// Ends the running command, if any.
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  Mirror(Mirror&&) = delete;
  Mirror& operator=(Mirror&&) = delete;

  /// Queues the files that are new or have changed since they were queued, checkpoints after those
  /// that they refer to. Files that are still written under a temporary name are left out.
  void push();
  /// Returns whether the command has succeeded for the file in its present state.
  [[nodiscard]] bool has(const std::filesystem::path& file);
  /// Queues the last changes and, when it is called first, the files for which the command has
  /// failed. Waits until the queue is empty: ten minutes, or half a minute after `stop` returns
  /// true. Returns the names of the files that are not mirrored.
  std::vector<std::string> finish(const std::function<bool()>& stop);

 private:
  enum class State : std::uint8_t { queued, done, failed };
  /// Size and time of change.
  using Stamp = std::pair<std::uintmax_t, std::filesystem::file_time_type>;
  struct File {
    Stamp stamp;
    State state = State::queued;
    bool told = false;  ///< a warning has named it
  };

  void work();
  void mirror(const std::filesystem::path& file);
  /// Returns what went wrong; empty: nothing.
  std::string attempt(const std::filesystem::path& file);

  const std::string command_;
  const std::filesystem::path folder_;
  const std::filesystem::path base_;
  const std::function<void(const std::string&)> warn_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::map<std::filesystem::path, File> files_;
  std::deque<std::filesystem::path> queue_;  // the first one is being mirrored
  pid_t child_ = 0;                          // the running command; 0: none
  bool down_ = false;                        // the last attempt has failed
  bool finishing_ = false;
  bool gave_up_ = false;  // finish() has waited long enough
  bool ends_ = false;
  std::jthread thread_;
};

}  // namespace seam::host
