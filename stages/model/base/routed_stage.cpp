#include "stages/model/base/routed_stage.hpp"

#include "stages/decimals.hpp"

namespace seam::stages {

void RoutingRecord::begin(const Context& context) {
  // Four networks that were trained with three iterations had 0.999 and more (docs/scores.md).
  constexpr double cosine_without_effect = 0.999;
  if (context.training() || warned_ || !trained_ || *trained_->cosine < cosine_without_effect)
    return;
  warned_ = true;
  context.warn(
      "routing had no effect in the last training: its class capsules and those of a "
      "single iteration had a mean cosine of " +
      with_decimals(*trained_->cosine, 4) + ", its couplings an entropy of " +
      with_decimals(*trained_->entropy, 4) +
      " of the maximum; `iterations = 1` is faster, and model.capsules has routing by "
      "cosines with a factor");
}

void RoutingRecord::add(const std::optional<nn::RoutingStatistics>& measured,
                        const Context& context) {
  if (!measured) return;
  const auto record = [&](std::string_view name, const std::optional<double>& value) {
    if (value) context.metric(name, *value);
  };
  record("coupling_entropy", measured->entropy);
  record("routing_cosine", measured->cosine);
  record("saturated_capsules", measured->saturated);
  record("dead_classes", measured->dead);
  if (measured->cosine && context.trainings() > 0) trained_ = measured;
}

}  // namespace seam::stages
