/// Shares the time of backward passes out to the stages whose gradients they compute.
///
///     made("model", 0, 42)            nodes by stage
///     entered(45) ... left()    ──►   seconds of loss
///     entered(numberless) ...   ──►   of the stage of the node before: its weights
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

  /// Is told of a stage's nodes that ran in a row.
  std::function<void(const std::string& stage, Clock::time_point from, Clock::time_point to)>
      on_span;

  void made(std::string_view stage, std::uint64_t first, std::uint64_t end) override;
  void entered(std::uint64_t node) override;
  void left() override;

  /// After each call of a stage: all nodes within it have ended. Seconds of them, which are inside
  /// the stage's own time.
  double take_call_seconds();
  /// Of the stage's gradients, in calls of others.
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
  static constexpr std::size_t nobody = ~std::size_t{0};

  std::size_t index_of(std::string_view stage);
  [[nodiscard]] std::size_t maker_of(std::uint64_t node) const;
  void end_span();

  std::vector<Stage> stages_;
  std::vector<Made> made_;    // by number; the newest
  std::size_t depth_ = 0;     // of nodes that run within nodes
  std::size_t now_ = nobody;  // the stage of the node that runs, or ran last
  Clock::time_point node_began_;
  Clock::time_point span_began_;
  Clock::time_point span_end_;
  Clock::duration in_call_{};
};

}  // namespace seam::host
