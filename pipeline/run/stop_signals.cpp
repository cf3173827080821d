#include "pipeline/run/stop_signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "pipeline/run/exit_code.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  // A closed terminal. Whoever started the program with nohup wants it to go on: a blocked signal
  // would be seen although it is ignored.
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);  // NOLINT: a cast of the C library's
  return set;
}

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
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::kill(::getpid(), signal);
}

}  // namespace

/// Does what it is asked to, one thing after the other, on a thread that nobody need wait for.
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
  /// No more errands; returns when the one in hand is done, or hangs for a second.
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

int RequestCount::note(int signal, std::chrono::steady_clock::time_point now) {
  constexpr auto moment = std::chrono::milliseconds(300);
  const bool again = signal == last_signal_ && now - last_time_ < moment;
  last_signal_ = signal;
  last_time_ = now;
  return again ? 0 : ++count_;
}

void StopSignals::block() {
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

StopSignals::StopSignals(StopState& stop, std::function<void(int)> told,
                         std::function<void()> overdue)
    : stop_(stop),
      told_(std::move(told)),
      overdue_(std::move(overdue)),
      errands_(std::make_shared<Errands>()),
      wake_(checked(::eventfd(0, EFD_CLOEXEC), "eventfd")) {
  block();
  const sigset_t set = stop_set();
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
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::milliseconds(1000);
  std::array<pollfd, 2> waiting{{{signals_, POLLIN, 0}, {wake_, POLLIN, 0}}};
  RequestCount requests;
  std::optional<Clock::time_point> deadline;
  bool told_overdue = false;
  while (true) {
    int milliseconds = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      milliseconds = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    const int ready = ::poll(waiting.data(), waiting.size(), milliseconds);
    if (ready < 0) continue;  // EINTR
    if (ready == 0) {
      if (told_overdue) std::_Exit(static_cast<int>(ExitCode::cancelled));
      told_overdue = true;
      deadline = Clock::now() + 3 * patience;
      std::thread(overdue_).detach();  // not an errand: one of those may hang
      continue;
    }
    if ((waiting[1].revents & POLLIN) != 0) return;
    signalfd_siginfo info{};
    if (::read(signals_, &info, sizeof(info)) != sizeof(info)) continue;
    const int count = requests.note(static_cast<int>(info.ssi_signo), Clock::now());
    if (count == 0) continue;
    if (count > 2) die_by(static_cast<int>(info.ssi_signo));
    if (count == 1) stop_.soon = true;
    if (count == 2) {
      stop_.cancel = true;
      deadline = Clock::now() + patience;
    }
    errands_->ask([this, count] { told_(count); });
    errands_->ask([this] { stop_.interrupt(); });
  }
}

}  // namespace seam::host
