/// Divides the time of backward passes among the stages whose gradients they compute.
///
///     made("model", 0, 42)            nodes by stage
///     entered(45) ... left()    ──►   seconds of loss
///     entered(numberless) ...   ──►   seconds of the previous node's stage: its weights
///
/// For use by the compute thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "seam/backward.hpp"

namespace seam::host {

class BackwardClock final : public BackwardListener {
 public:
  using Clock = std::chrono::steady_clock;

  /// Called for each sequence of nodes of one stage.
  std::function<void(const std::string& stage, Clock::time_point from, Clock::time_point to)>
      on_span;

  void made(std::string_view stage, std::uint64_t first, std::uint64_t end) override;
  void entered(std::uint64_t node) override;
  void left() override;

  /// To be called after each call of a stage. Returns the seconds of the nodes within the call,
  /// which are part of the stage's own time.
  double take_call_seconds();
  /// Seconds spent on the stage's gradients in calls of other stages.
  [[nodiscard]] double seconds_of(std::string_view stage) const;

 private:
  struct Stage {
    std::string name;
    Clock::duration time{};
  };
  struct Made {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::size_t stage = 0;
  };
  static constexpr std::size_t no_stage = ~std::size_t{0};

  std::size_t index_of(std::string_view stage);
  [[nodiscard]] std::size_t maker_of(std::uint64_t node) const;
  void end_span();

  std::vector<Stage> stages_;
  std::vector<Made> made_;      // by number; only the newest
  std::size_t depth_ = 0;       // of nodes that run within nodes
  std::size_t now_ = no_stage;  // the stage of the node that runs, or ran last
  Clock::time_point node_began_;
  Clock::time_point span_began_;
  Clock::time_point span_end_;
  Clock::duration in_call_{};
};

}  // namespace seam::host
