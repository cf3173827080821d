#include "pipeline/graph/step.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace seam::host {

void StepQueue::settle() {
  while (true) {
    std::move(fresh_.rbegin(), fresh_.rend(), std::back_inserter(ahead_));
    fresh_.clear();
    if (ahead_.empty()) return;
    Item item = std::move(ahead_.back());
    ahead_.pop_back();
    (*item.target)(std::move(item.message));
  }
}

std::size_t StepLane::add_port(Deliver deliver) {
  ports_.push_back({std::move(deliver), {}});
  return ports_.size() - 1;
}

void StepLane::accept(Message&& message) {
  ports_[message.port].waiting.emplace(message.sequence, std::move(message));
  while (true) {
    Port& port = ports_[turn_];
    const auto next = port.waiting.find(number_);
    if (next == port.waiting.end()) return;
    Message due = std::move(next->second);
    port.waiting.erase(next);
    if (turn_ == 0 && on_boundary) on_boundary(number_, Boundary::begins);
    turn_ = (turn_ + 1) % ports_.size();
    if (turn_ == 0) ++number_;
    const bool is_step = due.kind != Message::Kind::end;
    port.deliver(std::move(due));
    queue_.settle();
    if (turn_ == 0 && is_step) steps_ = number_;
    if (turn_ == 0 && is_step && on_boundary) on_boundary(number_, Boundary::ended);
  }
}

}  // namespace seam::host
