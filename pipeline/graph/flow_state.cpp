#include "pipeline/graph/flow_state.hpp"

#include <cstddef>
#include <iterator>

namespace seam::host {
namespace {

constexpr std::size_t most_failures_listed = 10'000;

}  // namespace

void FlowState::fail(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (error_) return;
    error_ = std::move(error);
    stopped_ = true;
  }
  if (on_failure) on_failure();
}

void FlowState::skip(const std::string& stage, const Origin& origin, const Error& error) {
  std::int64_t skipped = 0;
  {
    const std::lock_guard lock(mutex_);
    skipped = ++skipped_;
    failures_.insert({stage, origin.text(), error.what(), error.fault()});
    // Threads fail in any order: which are listed must not depend on it.
    if (failures_.size() > most_failures_listed) failures_.erase(std::prev(failures_.end()));
  }
  if (options.max_errors && skipped > *options.max_errors) {
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
  return static_cast<std::uint64_t>(skipped_);
}

std::vector<Failure> FlowState::failures() const {
  const std::lock_guard lock(mutex_);
  return {failures_.begin(), failures_.end()};
}

}  // namespace seam::host
