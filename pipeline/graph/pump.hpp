/// Calls sources, and collectors at their end, for packets while there is capacity, and again when
/// some is freed.
///
///     poke ──► idle ──► running ──► no capacity ──► idle    poked while running: looks again
///                          └──► no more ──► done
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "pipeline/graph/segment.hpp"

namespace seam::host {

class Pump {
 public:
  /// `start` must make sure that run() is called on the segment's thread; it is called once until
  /// run() returns. `segment` outlives the pump.
  Pump(Segment& segment, FlowState& flow, std::function<void()> start)
      : segment_(segment), flow_(flow), start_(std::move(start)) {}

  /// There may be capacity; may be called by any thread.
  void poke();
  enum class Left : std::uint8_t { parked, done };
  /// Pumps until there is no capacity, or there are no more packets.
  [[nodiscard]] Left run();
  [[nodiscard]] Segment& segment() { return segment_; }

 private:
  enum class State : std::uint8_t { idle, running, again, done };
  Segment& segment_;
  FlowState& flow_;
  std::function<void()> start_;
  std::atomic<State> state_ = State::idle;
};

}  // namespace seam::host
