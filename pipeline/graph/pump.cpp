#include "pipeline/graph/pump.hpp"

namespace seam::host {

void Pump::poke() {
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

Pump::Left Pump::run() {
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

}  // namespace seam::host
