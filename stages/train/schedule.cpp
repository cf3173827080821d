#include "stages/train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

Error refused(const std::string& what) {
  return Error(what, Fault::configuration);
}

double of_schedule(const ScheduleSettings& settings, std::int64_t epoch, std::int64_t step) {
  const double decay = settings.decay.value_or(usual_decay(settings.form));
  switch (settings.form) {
    case Schedule::constant:
      return settings.rate;
    case Schedule::exponential:
      return settings.rate * std::pow(decay, static_cast<double>(epoch));
    case Schedule::inverse_time:
      return settings.rate / (1 + decay * static_cast<double>(step));
    case Schedule::multi_step: {
      const auto reached = std::ranges::count_if(
          settings.milestones, [&](std::int64_t milestone) { return milestone <= epoch; });
      return settings.rate * std::pow(decay, static_cast<double>(reached));
    }
    case Schedule::cosine: {
      const std::int64_t length = settings.steps ? *settings.steps : settings.epochs.value_or(1);
      const double way = std::min(
          1.0, static_cast<double>(settings.steps ? step : epoch) / static_cast<double>(length));
      return settings.least_rate +
             (settings.rate - settings.least_rate) * (1 + std::cos(std::numbers::pi * way)) / 2;
    }
  }
  return settings.rate;
}

void check_decay(const ScheduleSettings& settings, const Context& context) {
  if (!settings.decay) return;
  const double decay = *settings.decay;
  const std::string given = "`decay = " + text_of(decay) + "`";
  if (settings.form == Schedule::exponential && decay < 0.5) {
    context.warn(given + " multiplies the learning rate by " + text_of(decay) +
                 " each epoch; for a slow decrease choose a value close to 1, such as 0.995");
  } else if (settings.form == Schedule::inverse_time && decay > 0.1) {
    context.warn(given + " divides the learning rate by " + text_of(1 + 1000 * decay) +
                 " at step 1000; for a slow decrease choose a value close to 0, such as 0.0005");
  }
}

void check_milestones(const ScheduleSettings& settings, const Context& context) {
  const std::vector<std::int64_t>& milestones = settings.milestones;
  if (settings.form != Schedule::multi_step) return;
  if (milestones.empty()) {
    throw refused(
        "`schedule = \"multi_step\"` needs `milestones`: the epochs, from 0, in which the rate "
        "decreases, such as [45, 60]");
  }
  if (milestones.front() < 1 ||
      std::ranges::adjacent_find(milestones, std::greater_equal<>()) != milestones.end()) {
    throw refused("`milestones` must be epochs above 0, each above the one before it");
  }
  if (milestones.front() >= context.epochs()) {
    context.warn("the run has " + counted(context.epochs(), "epoch") +
                 ", so the learning rate does not decrease: the first of `milestones` is " +
                 std::to_string(milestones.front()));
  }
}

void settle_cosine(ScheduleSettings& settings, const Context& context) {
  if (settings.form != Schedule::cosine) return;
  if (settings.epochs && settings.steps) {
    throw refused("a cosine has one length: remove either `epochs` or `steps`");
  }
  if (!settings.epochs && !settings.steps) settings.epochs = context.epochs();
  if (settings.epochs && *settings.epochs < context.epochs() && settings.least_rate == 0) {
    throw refused("the cosine ends after `epochs = " + std::to_string(*settings.epochs) +
                  "`, but the run has " + std::to_string(context.epochs()) +
                  " epochs: the learning rate of the last ones would be 0; remove `epochs`, or set "
                  "`least_rate`");
  }
  if (settings.least_rate > settings.rate) {
    throw refused("`least_rate = " + text_of(settings.least_rate) +
                  "` is above `rate = " + text_of(settings.rate) + "`, where the cosine begins");
  }
}

}  // namespace

double usual_decay(Schedule schedule) {
  switch (schedule) {
    case Schedule::exponential:
      return 0.995;
    case Schedule::inverse_time:
      return 5e-4;
    case Schedule::multi_step:
      return 0.1;
    case Schedule::constant:
    case Schedule::cosine:
      return 0;
  }
  return 0;
}

double learning_rate(const ScheduleSettings& settings, std::int64_t epoch, std::int64_t step) {
  const double rate = of_schedule(settings, epoch, step);
  if (step >= settings.warm_up) return rate;
  return rate * static_cast<double>(step + 1) / static_cast<double>(settings.warm_up);
}

void declare_schedule(Declaration& d, ScheduleSettings& settings) {
  d.parameter("rate", settings.rate, "learning rate at the start").range(0, 100);
  d.parameter("schedule", settings.form, "how the learning rate decreases",
              {{"constant", Schedule::constant},
               {"exponential", Schedule::exponential},
               {"inverse_time", Schedule::inverse_time},
               {"multi_step", Schedule::multi_step},
               {"cosine", Schedule::cosine}});
  d.parameter("decay", settings.decay,
              "exponential: factor on the rate in each epoch, default: 0.995; inverse_time: rate / "
              "(1 + decay * step), default: 5e-4; multi_step: factor on the rate at each "
              "milestone, default: 0.1")
      .range(0, 1)
      .only_with("schedule", std::vector<std::string>{"exponential", "inverse_time", "multi_step"});
  d.parameter("milestones", settings.milestones, "the epochs, from 0, in which the rate decreases")
      .only_with("schedule", "multi_step");
  d.parameter("epochs", settings.epochs,
              "the cosine's length, with one rate per epoch; default without `steps`: the number "
              "of epochs of [schedule]")
      .range(1, 1e9)
      .only_with("schedule", "cosine");
  d.parameter("steps", settings.steps, "the cosine's length, with one rate per step")
      .range(1, 1e15)
      .only_with("schedule", "cosine");
  d.parameter("least_rate", settings.least_rate, "the rate at the cosine's end and afterwards")
      .range(0, 100)
      .only_with("schedule", "cosine");
  d.parameter("warm_up", settings.warm_up,
              "number of warm-up steps, over which the rate grows linearly to that of the schedule")
      .range(0, 1e15);
}

void settle_schedule(ScheduleSettings& settings, const Context& context) {
  check_decay(settings, context);
  check_milestones(settings, context);
  settle_cosine(settings, context);
}

void warn_of_ended_cosine(const ScheduleSettings& settings, std::int64_t step,
                          const Context& context) {
  if (settings.form != Schedule::cosine || !settings.steps || settings.least_rate > 0 ||
      step < *settings.steps) {
    return;
  }
  context.warn("the cosine has ended after `steps = " + std::to_string(*settings.steps) +
               "`: the learning rate is 0, so nothing is trained any more");
}

}  // namespace seam::stages
