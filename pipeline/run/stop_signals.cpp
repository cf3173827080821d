#include "pipeline/run/stop_signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

#include "seam/error.hpp"

namespace seam::host {
namespace {

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

int checked(int descriptor, const char* what) {
  if (descriptor < 0) {
    throw Error(std::string("cannot watch for signals: ") + what + ": " +
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
      wake_(checked(::eventfd(0, EFD_CLOEXEC), "eventfd")) {
  block();
  const sigset_t set = stop_set();
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = checked(::signalfd(-1, &set, SFD_CLOEXEC), "signalfd");
  thread_ = std::thread([this] { watch(); });
}

StopSignals::~StopSignals() {
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from full.
  if (::write(wake_, &one, sizeof(one)) != sizeof(one)) std::terminate();
  thread_.join();
  ::close(signals_);
  ::close(wake_);
}

void StopSignals::watch() {
  std::array<pollfd, 2> waiting{{{signals_, POLLIN, 0}, {wake_, POLLIN, 0}}};
  RequestCount requests;
  constexpr int forever = -1;
  constexpr int milliseconds_to_cancel = 1000;
  int patience = forever;
  while (true) {
    const int ready = ::poll(waiting.data(), waiting.size(), patience);
    if (ready < 0) continue;  // EINTR
    if (ready == 0) {
      patience = forever;
      overdue_();
      continue;
    }
    if ((waiting[1].revents & POLLIN) != 0) return;
    signalfd_siginfo info{};
    if (::read(signals_, &info, sizeof(info)) != sizeof(info)) continue;
    const int count =
        requests.note(static_cast<int>(info.ssi_signo), std::chrono::steady_clock::now());
    if (count == 0) continue;
    if (count == 1) stop_.ask_to_drain();
    if (count == 2) {
      patience = milliseconds_to_cancel;
      stop_.ask_to_cancel();
    }
    if (count > 2) die_by(static_cast<int>(info.ssi_signo));
    told_(count);
  }
}

}  // namespace seam::host
