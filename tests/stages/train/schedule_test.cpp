#include "stages/train/schedule.hpp"

#include <seam/testing.hpp>

#include <string>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::stages::schedule_test {

ScheduleSettings with(Schedule form) {
  ScheduleSettings settings;
  settings.form = form;
  return settings;
}

constexpr std::int64_t epochs_of_run = 4;

/// The error, or the warning, or nothing; in a run of a few epochs.
std::string verdict(ScheduleSettings settings) {
  seam::testing::RecordingServices services;
  RunState run;
  run.services = &services;
  run.epochs = epochs_of_run;
  try {
    settle_schedule(settings, Context(run, "optimizer", 0));
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::configuration);
    return error.what();
  }
  return services.lines.empty() ? std::string() : services.lines.front().text;
}

TEST(Schedule, ConstantExponentialAndInverseTime) {
  EXPECT_DOUBLE_EQ(learning_rate(with(Schedule::constant), 7, 1000), 1e-3);
  ScheduleSettings exponential = with(Schedule::exponential);
  EXPECT_DOUBLE_EQ(learning_rate(exponential, 0, 1000), 1e-3);
  EXPECT_DOUBLE_EQ(learning_rate(exponential, 2, 1000), 1e-3 * 0.995 * 0.995);
  exponential.decay = 0.5;
  EXPECT_DOUBLE_EQ(learning_rate(exponential, 2, 0), 0.25e-3);
  ScheduleSettings inverse = with(Schedule::inverse_time);
  EXPECT_DOUBLE_EQ(learning_rate(inverse, 9, 1000), 1e-3 / 1.5);
  inverse.decay = 0.001;
  EXPECT_DOUBLE_EQ(learning_rate(inverse, 9, 1000), 0.5e-3);
}

TEST(Schedule, MultiStepFallsInItsMilestones) {
  ScheduleSettings settings = with(Schedule::multi_step);
  settings.milestones = {3, 5};
  const std::vector<double> factors{1, 1, 1, 0.1, 0.1, 0.01, 0.01};
  for (std::size_t epoch = 0; epoch < factors.size(); ++epoch) {
    EXPECT_NEAR(learning_rate(settings, static_cast<std::int64_t>(epoch), 9), 1e-3 * factors[epoch],
                1e-15)
        << epoch;
  }
  settings.decay = 0.5;
  EXPECT_DOUBLE_EQ(learning_rate(settings, 4, 9), 0.5e-3);
}

TEST(Schedule, CosineFallsToTheLeastRateAndStaysThere) {
  ScheduleSettings by_epoch = with(Schedule::cosine);
  by_epoch.epochs = 8;
  by_epoch.least_rate = 1e-4;
  EXPECT_DOUBLE_EQ(learning_rate(by_epoch, 0, 500), 1e-3);
  EXPECT_NEAR(learning_rate(by_epoch, 4, 500), 5.5e-4, 1e-15);
  EXPECT_DOUBLE_EQ(learning_rate(by_epoch, 8, 500), 1e-4);
  EXPECT_DOUBLE_EQ(learning_rate(by_epoch, 80, 500), 1e-4);
  ScheduleSettings by_step = with(Schedule::cosine);
  by_step.steps = 300;
  EXPECT_NEAR(learning_rate(by_step, 5, 100), 0.75e-3, 1e-15);  // cos 60° = 1/2
  EXPECT_NEAR(learning_rate(by_step, 5, 300), 0, 1e-15);
}

TEST(Schedule, WarmUpGrowsEvenlyToWhatTheScheduleSays) {
  ScheduleSettings settings = with(Schedule::exponential);
  settings.warm_up = 4;
  EXPECT_DOUBLE_EQ(learning_rate(settings, 0, 0), 0.25e-3);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 0, 2), 0.75e-3);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 0, 3), 1e-3);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 1, 4), 0.995e-3);
}

TEST(Schedule, RefusesWhatIsIncomplete) {
  EXPECT_THAT(verdict(with(Schedule::multi_step)), HasSubstr("needs `milestones`"));
  for (const std::vector<std::int64_t>& wrong :
       std::vector<std::vector<std::int64_t>>{{0}, {5, 5}, {5, 3}}) {
    ScheduleSettings settings = with(Schedule::multi_step);
    settings.milestones = wrong;
    EXPECT_THAT(verdict(settings), HasSubstr("each above the one before it"));
  }
  ScheduleSettings both = with(Schedule::cosine);
  both.epochs = epochs_of_run;
  both.steps = 3;
  EXPECT_THAT(verdict(both), HasSubstr("a cosine has one length"));
  ScheduleSettings rising = with(Schedule::cosine);
  rising.epochs = epochs_of_run;
  rising.least_rate = 1;
  EXPECT_THAT(verdict(rising), HasSubstr("is above `rate = 0.001`"));
}

TEST(Schedule, ACosineEndsWithTheRunUnlessItSaysWhere) {
  RunState run;
  run.epochs = epochs_of_run;
  ScheduleSettings settings = with(Schedule::cosine);
  settle_schedule(settings, Context(run, "optimizer", 0));
  EXPECT_EQ(settings.epochs, epochs_of_run);
  settings.epochs = 40;
  settle_schedule(settings, Context(run, "optimizer", 0));
  EXPECT_EQ(settings.epochs, 40);
}

TEST(Schedule, ACosineThatEndsAtRateZeroBeforeTheRunIsRefused) {
  ScheduleSettings settings = with(Schedule::cosine);
  settings.epochs = epochs_of_run - 1;
  EXPECT_THAT(verdict(settings), HasSubstr("ends after `epochs = 3`, but the run has 4 epochs"));
  settings.least_rate = 1e-5;
  EXPECT_EQ(verdict(settings), "");
}

TEST(Schedule, MilestonesThatTheRunDoesNotReachAreWarnedOf) {
  ScheduleSettings settings = with(Schedule::multi_step);
  settings.milestones = {epochs_of_run - 1, 45};
  EXPECT_EQ(verdict(settings), "");
  settings.milestones = {epochs_of_run, 45};
  EXPECT_EQ(verdict(settings),
            "the run has 4 epochs, so the learning rate does not decrease: the first of "
            "`milestones` is 4");
}

TEST(Schedule, ACosineByStepsThatHasEndedIsWarnedOf) {
  seam::testing::RecordingServices services;
  RunState run;
  run.services = &services;
  const Context context(run, "optimizer", 0);
  ScheduleSettings settings = with(Schedule::cosine);
  settings.steps = 10;
  warn_of_ended_cosine(settings, 9, context);
  EXPECT_TRUE(services.lines.empty());
  warn_of_ended_cosine(settings, 10, context);
  ASSERT_EQ(services.lines.size(), 1U);
  EXPECT_THAT(services.lines[0].text, HasSubstr("nothing is trained any more"));
  settings.least_rate = 1e-5;
  warn_of_ended_cosine(settings, 10, context);
  EXPECT_EQ(services.lines.size(), 1U);
}

TEST(Schedule, WarnsOfADecayThatFitsTheOtherSchedule) {
  const auto given = [](Schedule form, double decay) {
    ScheduleSettings settings = with(form);
    settings.decay = decay;
    return verdict(settings);
  };
  EXPECT_THAT(given(Schedule::inverse_time, 0.995), HasSubstr("divides the learning rate by 996"));
  EXPECT_THAT(given(Schedule::exponential, 5e-4),
              HasSubstr("multiplies the learning rate by 0.0005"));
  EXPECT_EQ(given(Schedule::inverse_time, 5e-4), "");
  EXPECT_EQ(given(Schedule::exponential, 0.96), "");
}

}  // namespace seam::stages::schedule_test
