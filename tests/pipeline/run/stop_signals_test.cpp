#include "pipeline/run/stop_signals.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>

namespace seam::host {
namespace {

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

TEST(StopSignals, ASignalAsksToDrain) {
  StopState stop;
  std::promise<int> told;
  const StopSignals signals(
      stop, [&](int count) { told.set_value(count); }, [] { FAIL() << "nobody asked twice"; });
  ::kill(::getpid(), SIGINT);
  EXPECT_EQ(told.get_future().get(), 1);
  EXPECT_TRUE(stop.soon);
  EXPECT_FALSE(stop.cancel);
}

TEST(StopSignals, WhatDoesNotEndASecondAfterTheSecondRequestIsOverdue) {
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

}  // namespace
}  // namespace seam::host
