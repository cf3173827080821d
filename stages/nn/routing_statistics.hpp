/// Measures what routing does to a batch.
///
///     u, weight ──► couplings of the last iteration ──► entropy, 1 if nothing is routed
///               └─► class capsules ──► cosine to those of a single iteration, dead ones
///
/// Trained networks may route nothing, or have capsules that are always short (Mitterreiter, Koch,
/// Giesen, Laue, "Why capsule neural networks do not scale", AAAI 2023), which no loss shows.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>

#include "stages/nn/routing.hpp"

namespace seam::nn {

struct RoutingStatistics {
  /// Mean entropy of the last couplings, divided by the greatest possible; 0 to 1. With several
  /// iterations.
  std::optional<double> entropy;
  /// Mean cosine of a class capsule and the one that a single iteration gives. With several
  /// iterations.
  std::optional<double> cosine;
  /// Share of input capsules longer than 0.9. If they are squashed, to lengths below 1.
  std::optional<double> saturated;
  double dead = 0;  ///< share of classes whose mean length is below 1 % of the longest's
};

/// Of the first 8 images of u [B,N,D], with `weight` and `classes` as in route(). It keeps N*K*O
/// values per image.
[[nodiscard]] RoutingStatistics routing_statistics(const torch::Tensor& u,
                                                   const torch::Tensor& weight,
                                                   std::int64_t classes,
                                                   const RoutingOptions& options);

/// A module's routing that can be measured: ask(), run the module, take().
class RoutingProbe {
 public:
  void ask() { asked_ = true; }
  /// route(), measured in the first call after ask().
  [[nodiscard]] torch::Tensor route(const torch::Tensor& u, const torch::Tensor& weight,
                                    std::int64_t classes, const RoutingOptions& options);
  /// Nothing if the module was not run since ask().
  [[nodiscard]] std::optional<RoutingStatistics> take();

 private:
  bool asked_ = false;
  std::optional<RoutingStatistics> measured_;
};

}  // namespace seam::nn
