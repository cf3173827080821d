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
  void poke() {
    if (!segment_.pumping()) return;
    State seen = state_.load();
    while (true) {
      if (seen == State::again || seen == State::done) return;
      const State next = seen == State::idle ? State::running : State::again;
      if (!state_.compare_exchange_weak(seen, next)) continue;
      if (seen != State::idle) return;
      break;
    }
    start_();
  }
  enum class Left : std::uint8_t { parked, done };
  /// Pumps until there is no capacity, or there are no more packets.
  [[nodiscard]] Left run() {
    while (true) {
      if (segment_.pump() == More::no) {
        state_ = State::done;
        return Left::done;
      }
      // No capacity. Park, unless some was freed since the pump looked.
      State seen = State::running;
      if (state_.compare_exchange_strong(seen, State::idle)) {
        // Capacity freed between the look and the parking has poked a running pump without effect.
        if (!segment_.room() && !flow_.discarding()) return Left::parked;
        seen = State::idle;
        if (!state_.compare_exchange_strong(seen, State::running)) return Left::parked;
      } else {
        state_ = State::running;  // was: again
      }
    }
  }
  [[nodiscard]] Segment& segment() { return segment_; }

 private:
  enum class State : std::uint8_t { idle, running, again, done };
  Segment& segment_;
  FlowState& flow_;
  std::function<void()> start_;
  std::atomic<State> state_ = State::idle;
};

}  // namespace seam::host
