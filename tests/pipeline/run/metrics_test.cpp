#include "pipeline/run/metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

namespace seam::host::metrics_test {

TEST(Metrics, LinesComeInFlowOrderWhoeverRecordedFirst) {
  Metrics metrics;
  metrics.record("elsewhere", "x", 1);
  metrics.record("loss", "loss", 0.5);
  metrics.record("batch", "size", 32);
  metrics.record("loss", "accuracy", 0.25);
  metrics.record("loss", "loss", 0.125);
  EXPECT_EQ(metric_lines(metrics.take({"batch", "model", "loss"}, {}), 3, "train"),
            R"({"epoch":3,"flow":"train","stage":"batch","name":"size","step":0,"value":32}
{"epoch":3,"flow":"train","stage":"loss","name":"accuracy","step":0,"value":0.25}
{"epoch":3,"flow":"train","stage":"loss","name":"loss","step":0,"value":0.5}
{"epoch":3,"flow":"train","stage":"loss","name":"loss","step":1,"value":0.125}
{"epoch":3,"flow":"train","stage":"elsewhere","name":"x","step":0,"value":1}
)");
  EXPECT_EQ(metric_lines(metrics.take({"batch"}, {}), 3, "train"), "") << "they are taken once";
}

TEST(Metrics, WhatManyThreadsRecordIsTheSameInAnyOrder) {
  const auto lines = [](int threads) {
    Metrics metrics;
    std::vector<std::jthread> recording;
    for (int thread = 0; thread < threads; ++thread) {
      recording.emplace_back([&metrics, thread, threads] {
        for (int i = thread; i < 200; i += threads) {
          metrics.record("stage", "value", i % 7 == 0 ? std::nan("") : i * 0.5);
        }
      });
    }
    recording.clear();
    return metric_lines(metrics.take({"stage"}, {"stage"}), 0, "f");
  };
  EXPECT_EQ(lines(1), lines(4));
}

TEST(Metrics, ValuesAreMeansOverTheEpochsFlowsThatEnded) {
  Metrics metrics;
  for (const double value : {1.0, 0.5, 0.0}) metrics.record("recall", "r@1", value);
  EXPECT_EQ(metrics.value("recall.r@1"), std::nullopt) << "the flow has not ended";
  metrics.take({"recall"}, {});
  EXPECT_EQ(metrics.value("recall.r@1"), 0.5);
  metrics.epoch_begins();
  EXPECT_EQ(metrics.value("recall.r@1"), std::nullopt);
  EXPECT_EQ(metrics.means().at("recall.r@1"), 0.5);
}

TEST(Metrics, TheProgressLinePrefersALoss) {
  Metrics metrics;
  EXPECT_EQ(metrics.latest(), std::nullopt);
  metrics.record("a", "accuracy", 0.5);
  EXPECT_EQ(metrics.latest()->first, "accuracy");
  metrics.record("b", "loss", 2);
  metrics.record("a", "accuracy", 0.75);
  EXPECT_EQ(*metrics.latest(), std::pair(std::string("loss"), 2.0));
}

TEST(Metrics, NumbersReadBackAsTheSame) {
  for (const double number : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0}) {
    EXPECT_EQ(std::strtod(number_text(number).c_str(), nullptr), number);
  }
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(-2), "-2");
}

TEST(Metrics, ValuesThatAreNoNumbersAreStillJson) {
  Metrics metrics;
  metrics.record("a", "x", std::nan(""));
  metrics.record("a", "y", -std::numeric_limits<double>::infinity());
  EXPECT_EQ(metric_lines(metrics.take({"a"}, {}), 0, "f", "after"),
            R"({"epoch":0,"flow":"f","stage":"a","name":"x","step":0,"value":null,"when":"after"}
{"epoch":0,"flow":"f","stage":"a","name":"y","step":0,"value":-1e999,"when":"after"}
)");
}

}  // namespace seam::host::metrics_test
