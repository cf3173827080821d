#include "pipeline/run/stop_signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "sdk/src/running_call.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

int checked(int descriptor, const char* what) {
  if (descriptor < 0) {
    throw Error(std::string("cannot handle signals: ") + what + ": " +
                    std::generic_category().message(errno),
                Fault::internal);
  }
  return descriptor;
}

void die_by(int signal) {
  std::signal(signal, SIG_DFL);
  const sigset_t set = stop_signal_set();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::kill(::getpid(), signal);
}

}  // namespace

/// Runs tasks one after the other on a separate thread, so that no caller has to wait.
class StopSignals::Errands : public std::enable_shared_from_this<Errands> {
 public:
  void start() {
    std::thread([self = shared_from_this()] { self->loop(); }).detach();
  }
  void ask(std::function<void()> errand) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(errand));
    wake_.notify_all();
  }
  /// Accepts no more tasks. Returns when the current one is done, or after it has hung for a
  /// second.
  void end() {
    std::unique_lock lock(mutex_);
    waiting_.clear();
    ending_ = true;
    wake_.notify_all();
    wake_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; });
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) break;
      const std::function<void()> errand = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      errand();
      lock.lock();
    }
    ended_ = true;
    wake_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  bool ended_ = false;
};

sigset_t stop_signal_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU}) sigaddset(&set, signal);
  // Under nohup, the program should continue when the terminal is closed, but a blocked signal
  // would be received although it is ignored.
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);  // NOLINT: a cast in the C library
  return set;
}

int RequestCount::note(int signal, std::chrono::steady_clock::time_point now) {
  constexpr auto moment = std::chrono::milliseconds(300);
  if (count_ > 0 && now - last_request_ < moment) return 0;
  if (signal == SIGXCPU && std::exchange(counted_cpu_limit_, true)) return 0;
  last_request_ = now;
  return ++count_;
}

std::optional<std::chrono::seconds> duration_of(std::string_view text) {
  struct Unit {
    char letter;
    std::int64_t seconds;
  };
  constexpr std::array<Unit, 3> units{{{'h', 3600}, {'m', 60}, {'s', 1}}};
  constexpr std::int64_t longest = 1'000'000;  // of each unit
  std::int64_t total = 0;
  for (const Unit& unit : units) {
    std::int64_t number = 0;
    const char* const last = text.data() + text.size();
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): from_chars() is given the end
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error != std::errc() || end == last || *end != unit.letter) continue;
    if (number < 0 || number > longest) return std::nullopt;
    total += number * unit.seconds;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  }
  if (!text.empty() || total == 0) return std::nullopt;
  return std::chrono::seconds(total);
}

std::chrono::milliseconds grace_of(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds least = std::chrono::seconds(5);
  constexpr std::chrono::milliseconds most = std::chrono::seconds(60);
  constexpr int share = 10;
  return std::clamp(limit / share, least, most);
}

/// Deadlines of a run that should stop.
class StopSignals::Deadlines {
 public:
  using Clock = std::chrono::steady_clock;

  std::optional<Clock::time_point> limit;  ///< time limit of the run
  std::optional<Clock::time_point> grace;  ///< after the time limit, for the current step
  std::optional<Clock::time_point> end;    ///< after cancelling, for stages that have not returned
  bool told_overdue = false;

  /// Timeout for poll(): until the first deadline; -1 if there is none.
  [[nodiscard]] int milliseconds_left() const {
    std::optional<Clock::time_point> first;
    for (const auto& deadline : {limit, grace, end}) {
      if (deadline && (!first || *deadline < *first)) first = deadline;
    }
    if (!first) return -1;
    constexpr std::int64_t longest = 3'600'000;  // poll() takes an int; it is called again then
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*first - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, longest));
  }
};

void StopSignals::block() {
  const sigset_t set = stop_signal_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

StopSignals::StopSignals(StopState& stop, std::optional<std::chrono::milliseconds> time_limit,
                         int exit_code, std::function<void(StopNotice)> told,
                         std::function<void()> overdue)
    : stop_(stop),
      time_limit_(time_limit),
      exit_code_(exit_code),
      told_(std::move(told)),
      overdue_(std::move(overdue)),
      errands_(std::make_shared<Errands>()),
      wake_(checked(::eventfd(0, EFD_CLOEXEC), "eventfd")) {
  block();
  const sigset_t set = stop_signal_set();
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = checked(::signalfd(-1, &set, SFD_CLOEXEC), "signalfd");
  errands_->start();
  thread_ = std::thread([this] { watch(); });
}

StopSignals::~StopSignals() {
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from full.
  if (::write(wake_, &one, sizeof(one)) != sizeof(one)) std::terminate();
  thread_.join();
  errands_->end();
  ::close(signals_);
  ::close(wake_);
}

void StopSignals::watch() {
  std::array<pollfd, 2> waiting{{{signals_, POLLIN, 0}, {wake_, POLLIN, 0}}};
  RequestCount requests;
  Deadlines deadlines;
  if (time_limit_) deadlines.limit = Deadlines::Clock::now() + *time_limit_;
  while (true) {
    const int ready = ::poll(waiting.data(), waiting.size(), deadlines.milliseconds_left());
    if (ready < 0) continue;  // EINTR
    if ((waiting[1].revents & POLLIN) != 0) return;
    signalfd_siginfo info{};
    if ((waiting[0].revents & POLLIN) != 0 &&
        ::read(signals_, &info, sizeof(info)) == sizeof(info)) {
      const int signal = static_cast<int>(info.ssi_signo);
      const int count = requests.note(signal, Deadlines::Clock::now());
      if (count == 1) ask_to_stop(StopNotice::asked);
      if (count == 2) cancel(StopNotice::cancelled, deadlines);
      if (count > 2) die_by(signal);
    }
    time_passed(deadlines);
  }
}

void StopSignals::ask_to_stop(StopNotice notice) {
  stop_.soon = true;
  errands_->ask([this, notice] { told_(notice); });
  errands_->ask([this] { stop_.interrupt(); });
}

void StopSignals::cancel(StopNotice notice, Deadlines& deadlines) {
  constexpr auto patience = std::chrono::seconds(1);
  stop_.cancel = true;
  deadlines.limit.reset();
  deadlines.grace.reset();
  deadlines.end = Deadlines::Clock::now() + patience;
  ask_to_stop(notice);
}

void StopSignals::time_passed(Deadlines& deadlines) {
  const auto now = Deadlines::Clock::now();
  if (deadlines.limit && now >= *deadlines.limit) {
    deadlines.limit.reset();
    deadlines.grace = now + grace_of(*time_limit_);
    if (!stop_.soon) ask_to_stop(StopNotice::time_is_up);
  }
  if (deadlines.grace && now >= *deadlines.grace) cancel(StopNotice::overrun, deadlines);
  if (!deadlines.end || now < *deadlines.end) return;
  constexpr auto last_patience = std::chrono::seconds(3);
  if (deadlines.told_overdue) end_program(exit_code_);
  deadlines.told_overdue = true;
  deadlines.end = now + last_patience;
  std::thread(overdue_).detach();  // not in the task queue, because a task may hang
}

}  // namespace seam::host
