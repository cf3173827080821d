/// Base class of capsule stages: records what routing does.
///
///     first batch of a training flow ──► metrics coupling_entropy, routing_cosine,
///                                        saturated_capsules, dead_classes
///     the next evaluation            ──► a warning if routing has no effect, unless the network
///                                        was not trained before that batch
#pragma once

#include <seam/module.hpp>

#include "stages/nn/routing_statistics.hpp"

namespace seam::stages {

/// The statistics of a stage's routing.
class RoutingRecord {
 public:
  /// Warns in an evaluation that follows a training in which routing had no effect; only once.
  void begin(const Context& context);
  /// Records what was measured in a batch, if anything was.
  void add(const std::optional<nn::RoutingStatistics>& measured, const Context& context);

 private:
  std::optional<nn::RoutingStatistics> trained_;
  bool warned_ = false;
};

/// `Stage` is a ModuleStage whose module has `RoutingProbe& probe()`.
template <class Stage>
class RoutedStage : public Stage {
 public:
  void begin(Context& context) override {
    routing_.begin(context);
    Stage::begin(context);
  }

  void process(Packet& packet, Context& context) override {
    if (context.training() && packet.sequence() == 0) this->net()->probe().ask();
    Stage::process(packet, context);
    routing_.add(this->net()->probe().take(), context);
  }

 private:
  RoutingRecord routing_;
};

}  // namespace seam::stages
