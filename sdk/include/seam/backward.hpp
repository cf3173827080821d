// SPDX-License-Identifier: Apache-2.0
/// Attributes the backward pass to stages. An optimizer's call computes the gradients of all stages
/// before it:
///
///     model: process() makes nodes 0 to 41, loss: 42 to 47      made("model", 0, 42), ...
///     adam: process() ──► node 45 begins, ends ──► ...          entered(45), left()
///
/// Compute (tensor.hpp) notifies the host: LibTorch numbers the nodes of its graph in the order of
/// their creation on a thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "seam/export.hpp"

namespace seam {

/// Called on the thread that runs the stages' calls.
class SEAM_EXPORT BackwardListener {
 public:
  virtual ~BackwardListener();
  /// The stage's call that is ending created the nodes from `first` up to `end`, exclusive.
  virtual void made(std::string_view stage, std::uint64_t first, std::uint64_t end) = 0;
  /// The node begins. Nodes that accumulate a weight's gradient have no number: numberless.
  virtual void entered(std::uint64_t node) = 0;
  static constexpr std::uint64_t numberless = ~std::uint64_t{0};
  /// The last node entered has ended.
  virtual void left() = 0;
};

/// Installs a listener for the calling thread during its lifetime.
class SEAM_EXPORT BackwardScope {
 public:
  explicit BackwardScope(BackwardListener* listener);
  ~BackwardScope();
  BackwardScope(const BackwardScope&) = delete;
  BackwardScope& operator=(const BackwardScope&) = delete;

  /// The calling thread's listener; null: none.
  [[nodiscard]] static BackwardListener* listener();

 private:
  BackwardListener* before_;
};

}  // namespace seam
