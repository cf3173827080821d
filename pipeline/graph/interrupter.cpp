#include "pipeline/graph/interrupter.hpp"

#include <system_error>

namespace seam::host {

Interrupter::Interrupter(const std::vector<StageRunner*>& stages) {
  for (const StageRunner* stage : stages) {
    if (stage->kind() == StageKind::source) sources_.push_back(stage);
  }
}

void Interrupter::interrupt() {
  const std::lock_guard lock(mutex_);
  for (const StageRunner* source : sources_) source->interrupt();
}

void Interrupter::interrupt_elsewhere() noexcept {
  try {
    elsewhere_ = std::jthread([this] { interrupt(); });
  } catch (const std::system_error&) {
    // No thread can be created: a waiting source then ends with its next packet, or on a signal.
    return;
  }
}

void Interrupter::wait() {
  if (elsewhere_.joinable()) elsewhere_.join();
}

}  // namespace seam::host
