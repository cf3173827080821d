/// Self-attention: each pixel of a map, or each capsule, attends to all others.
///
///     x [N,T,C], T tokens:
///       q = x Wqᵀ + bq   [N,T,C/8]     k = x Wkᵀ + bk   [N,T,C/8]     v = x Wvᵀ + bv   [N,T,C]
///       a_ts = softmax over s of q_t · k_s                            [N,T,T]
///     ──► x_t + gamma Σ_s a_ts v_s                                    [N,T,C]
///
/// Zhang, Goodfellow, Metaxas, Odena, "Self-Attention Generative Adversarial Networks", 2019,
/// equations 1 to 3, in the form of its first version, where v has all channels. gamma is initially
/// 0, so the module starts as the identity.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>

#include "stages/nn/layers.hpp"

namespace seam::nn {

/// Submodules are named "query_conv", "key_conv", "value_conv", with the shapes of 1x1
/// convolutions, and "gamma", as in ports of the paper to PyTorch.
class SelfAttentionImpl : public torch::nn::Module {
 public:
  /// q and k have channels / reduction elements, at least 1. Throws seam::Error for values below 1.
  explicit SelfAttentionImpl(std::int64_t channels, std::int64_t reduction = 8);
  /// Tokens [N,T,C], computed in float32 if they are in bfloat16, bit-identical for any number of
  /// threads. Throws seam::Error for a different C.
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& tokens);
  /// The same for the pixels of a map [N,C,H,W].
  [[nodiscard]] torch::Tensor forward_map(const torch::Tensor& map);

 private:
  /// Concatenated: the matrices of q, k and v, their biases, gamma.
  [[nodiscard]] torch::Tensor weights() const;

  std::int64_t channels_;
  Conv2d query_{nullptr};
  Conv2d key_{nullptr};
  Conv2d value_{nullptr};
  torch::Tensor gamma_;  // [1]
};
TORCH_MODULE(SelfAttention);

}  // namespace seam::nn
