#include "stages/nn/self_attention.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include <algorithm>
#include <vector>

#include "stages/nn/feature_map.hpp"
#include "stages/nn/fixed_parts.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

/// Matrix products instead of 1x1 convolutions, which oneDNN splits by the number of threads.
Tensor attended(const Tensor& x, const Tensor& weights) {
  const std::int64_t channels = x.size(2);
  const std::int64_t outputs = (weights.size(0) - 1) / (channels + 1);
  const std::int64_t reduced = (outputs - channels) / 2;
  // A split has one gradient; narrowing three times would add up three gradients, most of them
  // zeros.
  const std::vector<Tensor> w = weights.split_with_sizes({outputs * channels, outputs, 1});
  const Tensor all =
      torch::addmm(w[1], x.reshape({-1, channels}), w[0].view({outputs, channels}).t());
  const std::vector<Tensor> qkv =
      all.view({x.size(0), x.size(1), outputs}).split_with_sizes({reduced, reduced, channels}, 2);
  const Tensor attention = torch::softmax(qkv[0].bmm(qkv[1].transpose(1, 2)), 2);
  return x + w[2] * attention.bmm(qkv[2]);
}

}  // namespace

SelfAttentionImpl::SelfAttentionImpl(std::int64_t channels, std::int64_t reduction)
    : channels_(channels) {
  if (channels < 1 || reduction < 1) {
    throw Error("self-attention needs at least one channel, and a reduction of at least 1",
                Fault::configuration);
  }
  const std::int64_t reduced = std::max<std::int64_t>(1, channels / reduction);
  const auto part = [channels](std::int64_t out) {
    return Conv2d(torch::nn::Conv2dOptions(channels, out, 1));
  };
  query_ = register_module("query_conv", part(reduced));
  key_ = register_module("key_conv", part(reduced));
  value_ = register_module("value_conv", part(channels));
  gamma_ = register_parameter("gamma", torch::zeros({1}));
}

Tensor SelfAttentionImpl::weights() const {
  return torch::cat({query_->weight.flatten(), key_->weight.flatten(), value_->weight.flatten(),
                     query_->bias, key_->bias, value_->bias, gamma_});
}

Tensor SelfAttentionImpl::forward(const Tensor& tokens) {
  if (tokens.dim() != 3 || tokens.size(2) != channels_) {
    throw Error(c10::str("self-attention needs tokens [N,T,", channels_, "], not ", tokens.sizes()),
                Fault::internal);
  }
  const bool narrow = tokens.scalar_type() == torch::kBFloat16;
  return by_parts(narrow ? tokens.to(torch::kFloat32) : tokens, weights(), attended, Between::kept);
}

Tensor SelfAttentionImpl::forward_map(const Tensor& map) {
  check_feature_map(map, channels_);
  // With channels last in memory, as convolutions return maps, both of these are views.
  const Tensor result = forward(map.flatten(2).transpose(1, 2));
  return result.view({map.size(0), map.size(2), map.size(3), channels_}).permute({0, 3, 1, 2});
}

}  // namespace seam::nn
