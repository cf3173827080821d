#include "stages/nn/residual.hpp"

#include <torch/torch.h>
#include <seam/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace seam::nn {
namespace {

using torch::Tensor;
using torch::nn::Sequential;

Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                   std::int64_t stride = 1) {
  return Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// What makes the shortcut's size that of the sum; none where it is.
Sequential shortcut(const ResidualBlockOptions& options, std::int64_t out) {
  if (options.stride == 1 && options.in == out) return nullptr;
  return Sequential(convolution(options.in, out, 1, options.stride), BatchNorm2d(out));
}

/// torchvision's: He's normal initialisation over what a convolution gives.
void initialise(torch::nn::Module& network) {
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (const auto* convolution = module->as<torch::nn::Conv2d>()) {
      torch::nn::init::kaiming_normal_(convolution->weight, 0, torch::kFanOut, torch::kReLU);
    }
  }
}

}  // namespace

std::int64_t ResidualOptions::features() const {
  std::int64_t channels =
      width * (block == ResidualBlock::bottleneck ? BottleneckImpl::expansion : 1);
  for (std::size_t layer = 1; layer < blocks.size(); ++layer) channels *= 2;
  return channels;
}

SqueezeExcitationImpl::SqueezeExcitationImpl(std::int64_t channels) : fc1_(nullptr), fc2_(nullptr) {
  const std::int64_t squeezed = std::max<std::int64_t>(8, (channels / 16 + 4) / 8 * 8);
  fc1_ = register_module("fc1", Conv2d(torch::nn::Conv2dOptions(channels, squeezed, 1)));
  fc2_ = register_module("fc2", Conv2d(torch::nn::Conv2dOptions(squeezed, channels, 1)));
}

Tensor SqueezeExcitationImpl::forward(const Tensor& x) {
  return x * fc2_(fc1_(x.mean({2, 3}, /*keepdim=*/true)).relu_()).sigmoid();
}

BasicBlockImpl::BasicBlockImpl(const ResidualBlockOptions& o)
    : conv1_(register_module("conv1", convolution(o.in, o.channels, 3, o.stride))),
      conv2_(register_module("conv2", convolution(o.channels, o.channels, 3))),
      bn1_(register_module("bn1", BatchNorm2d(o.channels))),
      bn2_(register_module("bn2", BatchNorm2d(o.channels))),
      downsample_(shortcut(o, o.channels)) {
  if (o.squeeze_excitation) se_ = register_module("se", SqueezeExcitation(o.channels));
  if (downsample_) register_module("downsample", downsample_);
}

Tensor BasicBlockImpl::forward(const Tensor& x) {
  Tensor sum = bn1_(conv1_(x)).relu_();
  sum = bn2_(conv2_(sum));
  if (se_) sum = se_(sum);
  return sum.add_(downsample_ ? downsample_->forward(x) : x).relu_();
}

BottleneckImpl::BottleneckImpl(const ResidualBlockOptions& o)
    : conv1_(register_module("conv1", convolution(o.in, o.channels, 1))),
      conv2_(register_module("conv2", convolution(o.channels, o.channels, 3, o.stride))),
      conv3_(register_module("conv3", convolution(o.channels, o.channels * expansion, 1))),
      bn1_(register_module("bn1", BatchNorm2d(o.channels))),
      bn2_(register_module("bn2", BatchNorm2d(o.channels))),
      bn3_(register_module("bn3", BatchNorm2d(o.channels * expansion))),
      downsample_(shortcut(o, o.channels * expansion)) {
  if (o.squeeze_excitation) {
    se_ = register_module("se", SqueezeExcitation(o.channels * expansion));
  }
  if (downsample_) register_module("downsample", downsample_);
}

Tensor BottleneckImpl::forward(const Tensor& x) {
  Tensor sum = bn1_(conv1_(x)).relu_();
  sum = bn2_(conv2_(sum)).relu_();
  sum = bn3_(conv3_(sum));
  if (se_) sum = se_(sum);
  return sum.add_(downsample_ ? downsample_->forward(x) : x).relu_();
}

ResidualNetworkImpl::ResidualNetworkImpl(ResidualOptions options) : options_(std::move(options)) {
  const bool imagenet = options_.stem == ResidualStem::imagenet;
  conv1_ = register_module("conv1", convolution(3, options_.width, imagenet ? 7 : 3,
                                                options_.stem == ResidualStem::small ? 1 : 2));
  bn1_ = register_module("bn1", BatchNorm2d(options_.width));
  ResidualBlockOptions block{options_.width, options_.width, 1, options_.squeeze_excitation};
  for (const std::int64_t count : options_.blocks) {
    Sequential layer;
    for (std::int64_t at = 0; at < count; ++at) {
      if (options_.block == ResidualBlock::basic) {
        layer->push_back(BasicBlock(block));
        block.in = block.channels * BasicBlockImpl::expansion;
      } else {
        layer->push_back(Bottleneck(block));
        block.in = block.channels * BottleneckImpl::expansion;
      }
      block.stride = 1;
    }
    layers_.push_back(register_module("layer" + std::to_string(layers_.size() + 1), layer));
    block.channels *= 2;
    block.stride = layers_.size() + 1 == options_.blocks.size() ? options_.last_stride : 2;
  }
  if (options_.initialisation == ResidualInitialisation::fan_out) initialise(*this);
  const std::int64_t features = options_.features();
  pool_ = register_module("pool", GlobalPooling(options_.pooling));
  if (options_.dimensions > 0) {
    embedding_ = register_module("embedding", Linear(features, options_.dimensions));
  }
  if (options_.classes > 0) {
    fc_ = register_module("fc", Linear(features, options_.classes));
  }
}

ResidualOutput ResidualNetworkImpl::forward(const Tensor& images) {
  Tensor map = bn1_(conv1_(images)).relu_();
  if (options_.stem == ResidualStem::imagenet) map = torch::max_pool2d(map, 3, 2, 1);
  for (torch::nn::Sequential& layer : layers_) map = layer->forward(map);
  const Tensor pooled = pool_(map);
  Tensor embedding = embedding_ ? embedding_(pooled) : pooled;
  if (options_.unit_length) {
    embedding = torch::nn::functional::normalize(
        embedding.to(pooled.scalar_type()), torch::nn::functional::NormalizeFuncOptions().dim(1));
  }
  return {map, embedding, fc_ ? fc_(pooled) : Tensor()};
}

}  // namespace seam::nn
