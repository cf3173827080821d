/// What a training batch changes besides weights, such as running statistics: it counts only once
/// the optimizer has accepted the batch (Trainable::batch_accepted).
///
///     begin_batch ──► the batch changes the tensors ──┬─► accept: they stay
///                                                     └─► anything else: restore
///
/// The copies are small and made once a batch: two numbers a channel.
#pragma once

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

namespace seam::stages {

class ProvisionalState {
 public:
  /// A model's tensors with their names, always the same ones in the same order.
  using Named = std::vector<std::pair<std::string, torch::Tensor>>;

  /// Takes back the batch before, unless it was accepted, and remembers the tensors as they are.
  void begin_batch(const Named& tensors) {
    restore(tensors);
    for (const auto& [name, tensor] : tensors) before_.emplace_back(name, tensor.detach().clone());
  }
  void accept() { before_.clear(); }
  /// Takes back the last batch, unless it was accepted.
  void restore(const Named& tensors) {
    const torch::NoGradGuard no_gradient;
    for (std::size_t at = 0; at < before_.size(); ++at) {
      torch::Tensor(tensors[at].second).copy_(before_[at].second);
    }
    before_.clear();
  }
  /// The values that count now: those from before a batch that was not accepted.
  [[nodiscard]] const Named& accepted(const Named& tensors) const {
    return before_.empty() ? tensors : before_;
  }

 private:
  Named before_;  // empty where nothing is open
};

}  // namespace seam::stages
