#include "pipeline/graph/backward_clock.hpp"

#include <algorithm>

namespace seam::host {
namespace {

// More calls than the stages of a step make; gradients may belong to several earlier steps.
constexpr std::size_t most_made = 4096;

}  // namespace

void BackwardClock::made(std::string_view stage, std::uint64_t first, std::uint64_t end) {
  if (first == end) return;
  // Numbers that repeat belong to another thread's graph, so earlier entries are invalid.
  if (!made_.empty() && first < made_.back().end) made_.clear();
  if (made_.size() == most_made) made_.erase(made_.begin(), made_.begin() + most_made / 2);
  made_.push_back({first, end, index_of(stage)});
}

void BackwardClock::entered(std::uint64_t node) {
  ++depth_;
  if (depth_ > 1) return;
  const auto now = Clock::now();
  const std::size_t stage = node == numberless ? now_ : maker_of(node);
  if (stage != now_) {
    end_span();
    span_began_ = now;
  }
  now_ = stage;
  node_began_ = now;
}

void BackwardClock::left() {
  if (depth_ == 0) return;
  --depth_;
  if (depth_ > 0) return;
  span_end_ = Clock::now();
  if (now_ == no_stage) return;
  stages_[now_].time += span_end_ - node_began_;
  in_call_ += span_end_ - node_began_;
}

double BackwardClock::take_call_seconds() {
  end_span();
  depth_ = 0;
  now_ = no_stage;
  const std::chrono::duration<double> seconds = in_call_;
  in_call_ = {};
  return seconds.count();
}

double BackwardClock::seconds_of(std::string_view stage) const {
  const auto found = std::ranges::find(stages_, stage, &Stage::name);
  if (found == stages_.end()) return 0;
  return std::chrono::duration<double>(found->time).count();
}

std::size_t BackwardClock::index_of(std::string_view stage) {
  const auto found = std::ranges::find(stages_, stage, &Stage::name);
  if (found != stages_.end()) return static_cast<std::size_t>(found - stages_.begin());
  stages_.push_back({std::string(stage), {}});
  return stages_.size() - 1;
}

std::size_t BackwardClock::maker_of(std::uint64_t node) const {
  const auto behind = std::ranges::upper_bound(made_, node, {}, &Made::first);
  if (behind == made_.begin() || node >= std::prev(behind)->end) return no_stage;
  return std::prev(behind)->stage;
}

/// Reports the stage's nodes that ran in a row up to here.
void BackwardClock::end_span() {
  if (now_ != no_stage && on_span) on_span(stages_[now_].name, span_began_, span_end_);
}

}  // namespace seam::host
