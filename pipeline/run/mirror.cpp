#include "pipeline/run/mirror.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>
#include <tuple>

#include "pipeline/text/nearest.hpp"
#include "pipeline/text/utf8.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to programs

namespace seam::host {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array pauses{std::chrono::seconds(1), std::chrono::seconds(4)};  // between attempts
constexpr std::chrono::minutes longest_wait{10};
constexpr std::chrono::seconds wait_after_stop{30};

/// None if the file no longer exists.
std::optional<std::pair<std::uintmax_t, fs::file_time_type>> stamp_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) return std::nullopt;
  const auto time = fs::last_write_time(file, error);
  if (error) return std::nullopt;
  return std::pair{size, time};
}

bool is_mirrored(const fs::path& file) {
  return file.extension() != ".part" && file.filename() != "lock";
}

/// A checkpoint refers to the other files, and summary.json says that all of them are there.
int rank_of(const fs::path& file) {
  if (file.filename() == "summary.json") return 2;
  return file.parent_path().filename() == "checkpoints" ? 1 : 0;
}

/// The last line that the command printed.
std::string last_line(int output) {
  constexpr off_t most = 2000;
  const off_t size = ::lseek(output, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, most)), '\0');
  const ssize_t read = ::pread(output, text.data(), text.size(), std::max<off_t>(0, size - most));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
  while (text.ends_with('\n')) text.pop_back();
  return as_utf8(text.substr(text.rfind('\n') + 1));
}

/// Settings of posix_spawn: a process group of its own, because the signals that stop the run must
/// not end the command, and none of them blocked. Output goes to `output`.
class Settings {
 public:
  explicit Settings(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~Settings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  Settings(Settings&&) = delete;
  Settings& operator=(Settings&&) = delete;

  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Mirror::Mirror(std::string command, fs::path folder, fs::path base,
               std::function<void(const std::string&)> warn)
    : command_(std::move(command)),
      folder_(std::move(folder)),
      base_(std::move(base)),
      warn_(std::move(warn)),
      thread_([this] { work(); }) {}

Mirror::~Mirror() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  if (child_ > 0) ::kill(-child_, SIGKILL);
  changed_.notify_all();
}

void Mirror::push() {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown) && is_mirrored(entry->path())) found.push_back(*entry);
  }
  if (error) {
    warn_(fmt::format("the files of '{}' cannot be listed, so some are not mirrored: {}",
                      folder_.string(), error.message()));
  }
  std::ranges::sort(found, {},
                    [](const fs::path& file) { return std::tuple(rank_of(file), file); });
  const std::lock_guard lock(mutex_);
  for (const fs::path& file : found) {
    const auto stamp = stamp_of(file);
    if (!stamp) continue;
    const auto known = files_.find(file);
    if (known != files_.end() && known->second.stamp == *stamp) continue;
    File& changed = files_[file];
    changed.stamp = *stamp;
    changed.state = State::queued;
    queue_.push_back(file);
  }
  changed_.notify_all();
}

bool Mirror::has(const fs::path& file) {
  const auto stamp = stamp_of(file);
  const std::lock_guard lock(mutex_);
  const auto known = files_.find(file);
  return stamp && known != files_.end() && known->second.state == State::done &&
         known->second.stamp == *stamp;
}

std::vector<std::string> Mirror::finish(const std::function<bool()>& stop) {
  push();
  std::unique_lock lock(mutex_);
  for (auto& [file, known] : files_) {
    if (finishing_ || known.state != State::failed) continue;
    known.state = State::queued;
    queue_.push_back(file);
  }
  finishing_ = true;
  changed_.notify_all();
  const auto began = Clock::now();
  std::optional<Clock::time_point> stopped;
  const bool waits = !gave_up_;
  while (!gave_up_ && !queue_.empty()) {
    if (!stopped && stop()) stopped = Clock::now();
    const auto until =
        stopped ? std::min(began + longest_wait, *stopped + wait_after_stop) : began + longest_wait;
    gave_up_ = Clock::now() >= until;
    changed_.wait_for(lock, std::chrono::milliseconds(100));
  }
  std::vector<std::string> missing;
  for (const auto& [file, known] : files_) {
    if (known.state != State::done && stamp_of(file)) {
      missing.push_back(as_utf8(file.lexically_relative(base_).string()));
    }
  }
  if (waits && gave_up_) {
    lock.unlock();
    warn_("the mirror takes too long, and the run ends without it; these files are not mirrored: " +
          enumerated(missing));
  }
  return missing;
}

void Mirror::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !queue_.empty(); });
    if (ends_) return;
    const fs::path file = queue_.front();
    lock.unlock();
    mirror(file);
    lock.lock();
    queue_.pop_front();
    changed_.notify_all();
  }
}

void Mirror::mirror(const fs::path& file) {
  std::unique_lock lock(mutex_);
  File& known = files_.at(file);
  std::string fault;
  for (std::size_t tried = 0;; ++tried) {
    const auto now = stamp_of(file);
    const bool queued_twice = known.state == State::done && known.stamp == now;
    if (!now || queued_twice) return;  // without a stamp: removed since
    const Stamp queued = known.stamp;
    lock.unlock();
    fault = attempt(file);
    lock.lock();
    if (ends_) return;
    if (fault.empty()) {
      // If push() has noticed another change meanwhile, the file is in the queue again.
      if (known.stamp == queued) known = {*now, State::done, false};
      down_ = false;
      return;
    }
    if (down_ || known.told || tried == pauses.size()) break;
    if (changed_.wait_for(lock, pauses[tried], [this] { return ends_; })) return;
  }
  down_ = true;
  known.state = State::failed;
  if (std::exchange(known.told, true)) return;
  lock.unlock();
  warn_(fmt::format("'{}' is not mirrored: the command {}",
                    as_utf8(file.lexically_relative(folder_).string()), fault));
}

std::string Mirror::attempt(const fs::path& file) {
  const int output = ::memfd_create("mirror", MFD_CLOEXEC);
  if (output < 0) return "was not started: " + std::generic_category().message(errno);
  const Settings settings(output);
  std::string shell = "sh";
  std::string option = "-c";
  std::string command = command_;
  std::string path = file.string();
  std::string name = file.lexically_relative(base_).string();
  const std::array<char*, 7> arguments{shell.data(), option.data(), command.data(), shell.data(),
                                       path.data(),  name.data(),   nullptr};
  pid_t child = 0;
  int error = 0;
  {
    const std::lock_guard lock(mutex_);
    error = ends_ ? ECANCELED
                  : ::posix_spawn(&child, "/bin/sh", settings.actions(), settings.attributes(),
                                  arguments.data(), environ);
    if (error == 0) child_ = child;
  }
  std::string fault;
  if (error != 0) {
    fault = "was not started: " + std::generic_category().message(error);
  } else {
    // Not reaped before child_ is reset, so its number cannot be that of another process.
    siginfo_t ended{};
    while (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    child_ = 0;
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status)) {
      fault = fmt::format("was ended by signal {}", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
      fault = fmt::format("exited with {}: {}", WEXITSTATUS(status), last_line(output));
    }
  }
  ::close(output);
  return fault;
}

}  // namespace seam::host
