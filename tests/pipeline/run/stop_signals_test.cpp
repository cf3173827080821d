#include "pipeline/run/stop_signals.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <future>
#include <thread>
#include <vector>

namespace seam::host::stop_signals_test {

using std::chrono::milliseconds;
using Time = std::chrono::steady_clock::time_point;

TEST(RequestCount, SignalsWithinAMomentAreOneRequest) {
  RequestCount requests;
  const Time start{};
  EXPECT_EQ(requests.note(SIGTERM, start), 1);
  EXPECT_EQ(requests.note(SIGTERM, start + milliseconds(1)), 0) << "timeout sends it twice";
  EXPECT_EQ(requests.note(SIGHUP, start + milliseconds(200)), 0) << "systemd sends the pair";
  EXPECT_EQ(requests.note(SIGTERM, start + milliseconds(400)), 2)
      << "the interval begins with the request, not with the newest signal";
  EXPECT_EQ(requests.note(SIGINT, start + milliseconds(500)), 0);
  EXPECT_EQ(requests.note(SIGINT, start + milliseconds(1000)), 3);
}

TEST(RequestCount, ALimitOfProcessorTimeIsOneRequest) {
  RequestCount requests;
  const Time start{};
  EXPECT_EQ(requests.note(SIGXCPU, start), 1);
  EXPECT_EQ(requests.note(SIGXCPU, start + milliseconds(1000)), 0) << "it is sent every second";
  EXPECT_EQ(requests.note(SIGINT, start + milliseconds(1500)), 2);
  EXPECT_EQ(requests.note(SIGXCPU, start + milliseconds(2000)), 0);
}

TEST(DurationOf, TakesHoursMinutesAndSeconds) {
  EXPECT_EQ(duration_of("3h"), std::chrono::seconds(10'800));
  EXPECT_EQ(duration_of("90m"), std::chrono::seconds(5'400));
  EXPECT_EQ(duration_of("45s"), std::chrono::seconds(45));
  EXPECT_EQ(duration_of("1h30m"), std::chrono::seconds(5'400));
  EXPECT_EQ(duration_of("1h0m5s"), std::chrono::seconds(3'605));
}

TEST(DurationOf, RefusesWhatItCouldMisunderstand) {
  for (const char* text : {"", "3", "h", "0s", "-3h", "3 h", "30m1h", "3h3h", "1.5h", "3hours",
                           "99999999999999999999h", "9999999h", "3h5"}) {
    EXPECT_FALSE(duration_of(text)) << text;
  }
}

TEST(GraceOf, IsATenthOfTheLimitWithinBounds) {
  using std::chrono::minutes;
  using std::chrono::seconds;
  EXPECT_EQ(grace_of(seconds(1)), seconds(5));
  EXPECT_EQ(grace_of(minutes(5)), seconds(30));
  EXPECT_EQ(grace_of(minutes(600)), seconds(60));
}

/// Restores the signals that StopSignals would block and ignore until the process ends.
class StopSignalsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pipe_handler_ = std::signal(SIGPIPE, SIG_DFL);
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked_);
  }
  void TearDown() override {
    std::signal(SIGPIPE, pipe_handler_);
    ::pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);
  }

 private:
  void (*pipe_handler_)(int) = SIG_DFL;
  sigset_t blocked_{};
};

TEST_F(StopSignalsTest, ASignalAsksToStop) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU}) {
    StopState stop;
    std::promise<StopNotice> told;
    const StopSignals signals(
        stop, std::nullopt, 4, [&](StopNotice notice) { told.set_value(notice); },
        [] { FAIL() << "there was no second request"; });
    ::kill(::getpid(), signal);
    EXPECT_EQ(told.get_future().get(), StopNotice::asked) << signal;
    EXPECT_TRUE(stop.soon);
    EXPECT_FALSE(stop.cancel);
  }
}

TEST_F(StopSignalsTest, ATimeLimitAsksToStop) {
  StopState stop;
  std::promise<StopNotice> told;
  const StopSignals signals(
      stop, milliseconds(1), 4, [&](StopNotice notice) { told.set_value(notice); }, [] {});
  EXPECT_EQ(told.get_future().get(), StopNotice::time_is_up);
  EXPECT_TRUE(stop.soon);
  EXPECT_FALSE(stop.cancel);
}

TEST_F(StopSignalsTest, ARunThatEndsBeforeItsTimeIsNotAsked) {
  StopState stop;
  {
    const StopSignals signals(
        stop, std::chrono::hours(3), 4, [](StopNotice) { FAIL(); }, [] {});
  }
  EXPECT_FALSE(stop.soon);
}

TEST_F(StopSignalsTest, WhatGoesOnPastItsTimeOfGraceIsCancelledAndThenOverdue) {
  StopState stop;
  std::vector<StopNotice> notices;
  std::promise<void> overdue;
  {
    const StopSignals signals(
        stop, milliseconds(1), 4, [&](StopNotice notice) { notices.push_back(notice); },
        [&] { overdue.set_value(); });
    overdue.get_future().wait();
  }
  EXPECT_TRUE(stop.cancel);
  EXPECT_EQ(notices, (std::vector{StopNotice::time_is_up, StopNotice::overrun}));
}

TEST_F(StopSignalsTest, WhatDoesNotEndASecondAfterTheSecondRequestIsOverdue) {
  StopState stop;
  std::promise<void> asked;
  std::promise<void> overdue;
  const StopSignals signals(
      stop, std::nullopt, 4,
      [&](StopNotice notice) {
        if (notice == StopNotice::asked) asked.set_value();
      },
      [&] { overdue.set_value(); });
  ::kill(::getpid(), SIGINT);
  asked.get_future().wait();
  std::this_thread::sleep_for(milliseconds(310));  // signals within 300 ms are one request
  ::kill(::getpid(), SIGINT);
  overdue.get_future().wait();
  EXPECT_TRUE(stop.cancel);
}

TEST(StopState, InterruptsTheFlowThatObserves) {
  StopState stop;
  int interrupts = 0;
  stop.observe([&] { ++interrupts; });
  EXPECT_EQ(interrupts, 0);
  stop.soon = true;
  stop.interrupt();
  EXPECT_EQ(interrupts, 1);
  stop.observe(nullptr);
  stop.interrupt();
  EXPECT_EQ(interrupts, 1);
  stop.observe([&] { ++interrupts; });
  EXPECT_EQ(interrupts, 2) << "a flow that begins after the request";
}

}  // namespace seam::host::stop_signals_test
