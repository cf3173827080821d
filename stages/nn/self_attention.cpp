#include "stages/nn/self_attention.hpp"

#include <torch/torch.h>
#include <seam/error.hpp>

#include <algorithm>
#include <sstream>

#include "stages/nn/feature_map.hpp"
#include "stages/nn/fixed_parts.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

/// Matrix products instead of 1x1 convolutions, which oneDNN splits by the number of threads.
Tensor attended(const Tensor& x, const Tensor& weights) {
  const std::int64_t channels = x.size(2);
  const std::int64_t reduced = (weights.size(0) - 1 - channels) / 2;
  const Tensor rows = weights.narrow(0, 0, weights.size(0) - 1);
  const Tensor all = x.matmul(rows.narrow(1, 0, channels).t()) + rows.select(1, channels);
  const Tensor query = all.narrow(2, 0, reduced);
  const Tensor key = all.narrow(2, reduced, reduced);
  const Tensor value = all.narrow(2, 2 * reduced, channels);
  const Tensor attention = torch::softmax(query.bmm(key.transpose(1, 2)), 2);
  const Tensor gamma = weights.select(0, weights.size(0) - 1).select(0, 0);
  return x + gamma * attention.bmm(value);
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
  const Tensor matrix =
      torch::cat({query_->weight.flatten(1), key_->weight.flatten(1), value_->weight.flatten(1)});
  const Tensor bias = torch::cat({query_->bias, key_->bias, value_->bias}).unsqueeze(1);
  return torch::cat({torch::cat({matrix, bias}, 1), gamma_.expand({1, channels_ + 1})});
}

Tensor SelfAttentionImpl::forward(const Tensor& tokens) {
  if (tokens.dim() != 3 || tokens.size(2) != channels_) {
    std::ostringstream text;
    text << "self-attention takes tokens [N,T," << channels_ << "], not " << tokens.sizes();
    throw Error(text.str(), Fault::internal);
  }
  const bool narrow = tokens.scalar_type() == torch::kBFloat16;
  return by_parts(narrow ? tokens.to(torch::kFloat32) : tokens, weights(), attended);
}

Tensor SelfAttentionImpl::forward_map(const Tensor& map) {
  check_feature_map(map, channels_);
  // Channels last in memory, as convolutions leave maps, makes both of these views.
  const Tensor result = forward(map.flatten(2).transpose(1, 2));
  return result.view({map.size(0), map.size(2), map.size(3), channels_}).permute({0, 3, 1, 2});
}

}  // namespace seam::nn
