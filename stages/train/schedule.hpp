/// The schedule of the learning rate, shared by all optimizers.
///
///     rate(epoch, step) = warm-up(step) * schedule(epoch, step)
///     warm-up: (step + 1) / warm_up in the first `warm_up` steps, then 1
#pragma once

#include <seam/context.hpp>
#include <seam/declaration.hpp>

namespace seam::stages {

enum class Schedule : std::uint8_t {
  constant,
  exponential,   ///< rate * decay^epoch: SCCapsNet's released code, decay 0.995
  inverse_time,  ///< rate / (1 + decay * step): what "decay rate 5e-4" means in Keras
  multi_step,    ///< rate * decay^(milestones that the epoch has reached)
  cosine,        ///< half a cosine from rate to least_rate (Loshchilov and Hutter, ICLR 2017)
};

struct ScheduleSettings {
  Schedule form = Schedule::constant;
  double rate = 1e-3;
  std::optional<double> decay;           ///< usual_decay() if not set
  std::vector<std::int64_t> milestones;  ///< epochs, from 0, in which multi_step's rate decreases
  std::optional<std::int64_t> epochs;    ///< length of the cosine, in epochs or in steps
  std::optional<std::int64_t> steps;
  double least_rate = 0;     ///< at the cosine's end and afterwards
  std::int64_t warm_up = 0;  ///< steps
};

/// The default of `decay`: 0.995, 5e-4, 0.1; 0 for schedules that do not use it.
[[nodiscard]] double usual_decay(Schedule schedule);

/// The learning rate in `epoch` (from 0) at `step` (from 0, over all epochs).
[[nodiscard]] double learning_rate(const ScheduleSettings& settings, std::int64_t epoch,
                                   std::int64_t step);

/// Declares `rate`, `schedule` and the parameters that belong to them.
void declare_schedule(Declaration& d, ScheduleSettings& settings);

/// Throws seam::Error (configuration) for settings that contradict each other, and for a
/// cosine that ends at rate 0 before the run does; warns of a decay that suits a
/// different schedule, and of milestones that the run does not reach. A cosine without a length
/// gets that of the run.
void settle_schedule(ScheduleSettings& settings, const Context& context);
/// Warns of a cosine by steps that has ended at rate 0; at the start of a flow.
void warn_of_ended_cosine(const ScheduleSettings& settings, std::int64_t step,
                          const Context& context);

}  // namespace seam::stages
