#include "pipeline/graph/flow_state.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

constexpr std::size_t most_failures_listed = 10'000;

}  // namespace

FlowState::FlowState(const FlowOptions& flow_options, RunState run_state, Budget& flow_budget)
    : options(flow_options),
      run(std::move(run_state)),
      budget(flow_budget),
      clock(flow_options.calls != nullptr ? StageClock::Kind::system : StageClock::Kind::cheapest) {
  if (options.calls != nullptr) {
    backward.on_span = [this](const std::string& stage, const auto& from, const auto& to) {
      options.calls->called({run.flow, stage + " backward", backward_packet, true, from, to});
    };
  }
  for (const Failure& failure : options.from.failures) failures_.insert({failure, {}});
}

void FlowState::fail(Error error) {
  bool ends = false;
  {
    const std::lock_guard lock(mutex_);
    if (error_) return;
    error_ = std::move(error);
    ends = !stopped_.exchange(true);
  }
  if (ends && on_end) on_end();
}

void FlowState::halt() {
  curtailed_ = true;
  if (!stopped_.exchange(true) && on_end) on_end();
}

void FlowState::skip(const std::string& stage, const Skip& skipped, const Error& error) {
  std::int64_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    const Where where{skipped.replay, skipped.sequence};
    skipped_.push_back(where);
    count = static_cast<std::int64_t>(options.from.skipped + skipped_.size());
    failures_.insert({{stage, skipped.origin.text(), error.what(), error.fault()}, where});
    // The list must not depend on the order in which threads fail.
    if (failures_.size() > most_failures_listed) failures_.erase(std::prev(failures_.end()));
  }
  if (options.max_errors && count > *options.max_errors) {
    Error too_many("more than max_errors = " + std::to_string(*options.max_errors) +
                       " packets failed; the last: " + error.what(),
                   error.fault());
    for (const std::string& step : error.chain()) too_many.while_doing(step);
    fail(std::move(too_many));
  }
}

std::optional<Error> FlowState::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

std::uint64_t FlowState::skipped() const {
  const std::lock_guard lock(mutex_);
  return options.from.skipped + skipped_.size();
}

std::vector<Failure> FlowState::failures() const {
  const std::lock_guard lock(mutex_);
  return mapped(failures_, [](const Listed& listed) { return listed.failure; });
}

bool FlowState::Where::is_before(std::uint64_t steps, std::uint64_t inputs) const {
  switch (replay) {
    case Replay::whole:
      return false;
    case Replay::inputs:
      return sequence < inputs;
    case Replay::batches:
      return sequence < steps;
    case Replay::none:
      break;
  }
  return true;
}

FlowPoint FlowState::point(std::uint64_t steps, std::uint64_t inputs) const {
  const std::lock_guard lock(mutex_);
  FlowPoint point{steps, inputs, options.from.skipped, {}};
  point.skipped += static_cast<std::uint64_t>(std::ranges::count_if(
      skipped_, [&](const Where& where) { return where.is_before(steps, inputs); }));
  for (const Listed& listed : failures_) {
    if (listed.where.is_before(steps, inputs)) point.failures.push_back(listed.failure);
  }
  return point;
}

}  // namespace seam::host
