// SPDX-License-Identifier: Apache-2.0
/// Tells the host which stage a backward pass works for. An optimizer's call computes the gradients
/// of all stages before it:
///
///     model: process() makes nodes 0 to 41, loss: 42 to 47      made("model", 0, 42), ...
///     adam: process() ──► node 45 begins, ends ──► ...          entered(45), left()
///
/// The host listens, and Compute (tensor.hpp) tells it: LibTorch numbers the nodes of its graph in
/// the order in which they are made on a thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "seam/export.hpp"

namespace seam {

/// Is called on the thread that runs the stages' calls.
class SEAM_EXPORT BackwardListener {
 public:
  virtual ~BackwardListener();
  /// The stage's call that ends made the nodes from `first` on, before `end`.
  virtual void made(std::string_view stage, std::uint64_t first, std::uint64_t end) = 0;
  /// The node begins. One that adds up the gradient of a weight has no number of its own:
  /// numberless.
  virtual void entered(std::uint64_t node) = 0;
  static constexpr std::uint64_t numberless = ~std::uint64_t{0};
  /// The node that was entered last has ended.
  virtual void left() = 0;
};

/// Makes a listener that of the calling thread while it lives.
class SEAM_EXPORT BackwardScope {
 public:
  explicit BackwardScope(BackwardListener* listener);
  ~BackwardScope();
  BackwardScope(const BackwardScope&) = delete;
  BackwardScope& operator=(const BackwardScope&) = delete;
  BackwardScope(BackwardScope&&) = delete;
  BackwardScope& operator=(BackwardScope&&) = delete;

  /// The calling thread's; null: none.
  [[nodiscard]] static BackwardListener* listener();

 private:
  BackwardListener* before_;
};

}  // namespace seam
