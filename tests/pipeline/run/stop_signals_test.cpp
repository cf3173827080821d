#include "pipeline/run/stop_signals.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>

namespace seam::host {
namespace stop_signals_test {

using std::chrono::milliseconds;
using Time = std::chrono::steady_clock::time_point;

TEST(RequestCount, TheSameSignalWithinAMomentIsTheSameRequest) {
  RequestCount requests;
  const Time start{};
  EXPECT_EQ(requests.note(SIGTERM, start), 1);
  EXPECT_EQ(requests.note(SIGTERM, start + milliseconds(1)), 0);
  EXPECT_EQ(requests.note(SIGTERM, start + milliseconds(200)), 0);
  EXPECT_EQ(requests.note(SIGTERM, start + milliseconds(1000)), 2);
}

TEST(RequestCount, AnotherSignalIsAnotherRequest) {
  RequestCount requests;
  const Time start{};
  EXPECT_EQ(requests.note(SIGINT, start), 1);
  EXPECT_EQ(requests.note(SIGTERM, start + milliseconds(1)), 2);
  EXPECT_EQ(requests.note(SIGINT, start + milliseconds(2)), 3);
}

/// Restores the signals that StopSignals blocks and ignores for the rest of a process's life.
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

TEST_F(StopSignalsTest, ASignalAsksToDrain) {
  StopState stop;
  std::promise<int> told;
  const StopSignals signals(
      stop, [&](int count) { told.set_value(count); }, [] { FAIL() << "nobody asked twice"; });
  ::kill(::getpid(), SIGINT);
  EXPECT_EQ(told.get_future().get(), 1);
  EXPECT_TRUE(stop.soon);
  EXPECT_FALSE(stop.cancel);
}

TEST_F(StopSignalsTest, WhatDoesNotEndASecondAfterTheSecondRequestIsOverdue) {
  StopState stop;
  std::promise<void> overdue;
  const StopSignals signals(
      stop, [](int) {}, [&] { overdue.set_value(); });
  ::kill(::getpid(), SIGINT);
  ::kill(::getpid(), SIGTERM);
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

}  // namespace stop_signals_test
}  // namespace seam::host
