/// Dropout of whole capsules with learned probabilities, one per capsule.
///
///     z = sigmoid((log p - log(1 - p) + log u - log(1 - u)) / t),   u uniform from 0 to 1
///     x · (1 - z) / (1 - p)
///
///     regulariser = Σ over capsules of  λ |W_c|² / (1 - p) + p log p + (1 - p) log(1 - p)
///
/// Gal, Hron, Kendall, "Concrete dropout", NIPS 2017: z is nearly 0 or 1, and differentiable in p.
/// The regulariser belongs to the loss: without it p only decreases. W_c are the weights by which
/// the capsule's elements are multiplied. (Equations 2 and 3 of O'Neill's paper have a parenthesis
/// and a sign otherwise; with these, neither equation follows from its derivation.)
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>

#include "stages/nn/dropout.hpp"

namespace seam::nn {

struct ConcreteDropoutOptions {
  std::int64_t capsules = 20;
  double initial = 0.1;      ///< p of every capsule at first
  double temperature = 0.1;  ///< t
};

/// u [images, capsules] of a training pass: the same on any device and for any number of threads.
[[nodiscard]] torch::Tensor concrete_noise(std::int64_t images, std::int64_t capsules,
                                           const DropoutKey& key, std::int64_t layer,
                                           torch::ScalarType type = torch::kFloat32);

/// Its only parameter is "p_logit" [capsules], log p - log(1 - p).
class ConcreteDropoutImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error for probabilities outside 0 to 1 and a temperature that is not positive.
  explicit ConcreteDropoutImpl(const ConcreteDropoutOptions& options);

  /// Capsules x [N,K,D] by noise u [N,K] in training; in evaluation x itself.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& noise);
  /// For weights [O, K*D] of the dense layer that follows.
  [[nodiscard]] torch::Tensor regulariser(const torch::Tensor& weight, double lambda) const;
  /// p [K], without gradient.
  [[nodiscard]] torch::Tensor probabilities() const;

  torch::Tensor p_logit;

 private:
  ConcreteDropoutOptions options_;
};
TORCH_MODULE(ConcreteDropout);

}  // namespace seam::nn
