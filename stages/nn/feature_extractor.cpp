#include "stages/nn/feature_extractor.hpp"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/torch.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

#include <seam/error.hpp>

#include "stages/nn/initialisation.hpp"
#include "stages/nn/kernels/convolution.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

bool autocast_on_cpu() {
  return !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCPU);
}

Tensor same_padded(const Tensor& images, const ConvolutionLayer& layer) {
  const std::int64_t y = kernels::same_padding_total(images.size(2), layer.kernel, layer.stride);
  const std::int64_t x = kernels::same_padding_total(images.size(3), layer.kernel, layer.stride);
  return torch::constant_pad_nd(images, {x / 2, x - x / 2, y / 2, y - y / 2});
}

}  // namespace

ConvolutionBlockImpl::ConvolutionBlockImpl(std::int64_t in_channels, const ConvolutionLayer& layer,
                                           const FeatureExtractorOptions& options, bool last) {
  convolution = register_module(
      "c", Conv2d(torch::nn::Conv2dOptions(in_channels, layer.out_channels, layer.kernel)
                      .stride(layer.stride)));
  if (last) return;
  norm = register_module("bn", BatchNorm2d(torch::nn::BatchNorm2dOptions(layer.out_channels)
                                               .eps(options.norm_epsilon)
                                               .momentum(options.norm_momentum)));
}

FeatureExtractorImpl::FeatureExtractorImpl(FeatureExtractorOptions options, std::uint64_t seed)
    : options_(std::move(options)) {
  if (options_.layers.empty() || options_.in_channels < 1) {
    throw Error("a feature extractor needs at least one layer and one input channel",
                Fault::configuration);
  }
  if (!(options_.dropout >= 0 && options_.dropout < 1)) {
    throw Error("the dropout rate must be at least 0 and below 1", Fault::configuration);
  }
  const torch::NoGradGuard no_gradient;
  std::int64_t in = options_.in_channels;
  for (const ConvolutionLayer& layer : options_.layers) {
    if (layer.out_channels < 1 || layer.kernel < 1 || layer.stride < 1) {
      throw Error("a convolution's channels, kernel and stride must be at least 1",
                  Fault::configuration);
    }
    const std::size_t number = blocks_.size();
    const ConvolutionBlock block(in, layer, options_, number + 1 == options_.layers.size());
    const std::int64_t out = layer.out_channels;
    const std::int64_t area = layer.kernel * layer.kernel;
    block->convolution->weight.copy_(
        glorot_uniform({out, in, layer.kernel, layer.kernel}, in * area, out * area, seed, number));
    block->convolution->bias.zero_();
    blocks_.push_back(register_module(std::to_string(number), block));
    in = out;
  }
}

FeatureExtractorImpl::FeatureExtractorImpl(const FeatureExtractorOptions& options)
    : FeatureExtractorImpl(options, DropoutKey::drawn().seed) {}

Tensor FeatureExtractorImpl::forward(const Tensor& images) {
  return forward(images, is_training() ? DropoutKey::drawn() : DropoutKey{});
}

Tensor FeatureExtractorImpl::forward(const Tensor& images, const DropoutKey& key) {
  check(images);
  if (!kernels_cover(images)) return forward_plain(images, key);
  if (every_block_is(true)) return train_with_kernels(images, key);
  const std::vector<Tensor> weights = parameters();
  const bool graph = torch::GradMode::is_enabled() &&
                     std::any_of(weights.begin(), weights.end(),
                                 [](const Tensor& weight) { return weight.requires_grad(); });
  if (graph || !every_block_is(false)) return forward_plain(images, key);
  return evaluate_pass(pass_layers(), pass_options(), images);
}

Tensor FeatureExtractorImpl::forward_plain(const Tensor& images, const DropoutKey& key) {
  check(images);
  // Channels last from end to end: no convolution reorders its input.
  Tensor x = images.contiguous(torch::MemoryFormat::ChannelsLast);
  for (std::size_t l = 0; l < blocks_.size(); ++l) {
    ConvolutionBlock& block = blocks_[l];
    x = block->convolution->forward(same_padded(x, options_.layers[l]));
    if (l + 1 == blocks_.size()) break;
    // In place, since no backward pass needs what is overwritten. Dropout's factors are not
    // negative, so they may come before the activation, whose gradient needs its result alone.
    x = block->norm->forward(x);
    if (block->is_training() && options_.dropout > 0) {
      x.mul_(spatial_dropout(x.size(0), x.size(1), options_.dropout, key,
                             static_cast<std::int64_t>(l), x.scalar_type())
                 .to(x.device())
                 .unsqueeze(-1)
                 .unsqueeze(-1));
    }
    if (options_.activation == Activation::relu) {
      x.relu_();
    } else {
      torch::leaky_relu_(x, options_.slope);
    }
  }
  return x;
}

Tensor FeatureExtractorImpl::train_with_kernels(const Tensor& images, const DropoutKey& key) const {
  std::vector<Tensor> keep;
  for (std::size_t l = 0; l + 1 < blocks_.size(); ++l) {
    keep.push_back(spatial_dropout(images.size(0), options_.layers[l].out_channels,
                                   options_.dropout, key, static_cast<std::int64_t>(l),
                                   images.scalar_type()));
    const torch::NoGradGuard no_gradient;
    blocks_[l]->norm->num_batches_tracked.add_(1);
  }
  return train_pass(pass_layers(), pass_options(), images, keep, parameters());
}

void FeatureExtractorImpl::check(const Tensor& images) const {
  const torch::ScalarType type = blocks_.front()->convolution->weight.scalar_type();
  if (images.dim() == 4 && images.size(1) == options_.in_channels && images.numel() > 0 &&
      images.scalar_type() == type) {
    return;
  }
  std::ostringstream text;
  text << "the feature extractor takes " << torch::toString(type) << " images [N,"
       << options_.in_channels << ",H,W], not " << torch::toString(images.scalar_type()) << " "
       << images.sizes();
  throw Error(text.str(), Fault::internal);
}

bool FeatureExtractorImpl::kernels_cover(const Tensor& images) const {
  return images.device().is_cpu() && !autocast_on_cpu() &&
         (images.scalar_type() == torch::kFloat32 || images.scalar_type() == torch::kFloat64) &&
         !(images.requires_grad() && torch::GradMode::is_enabled());
}

bool FeatureExtractorImpl::every_block_is(bool training) const {
  return std::all_of(blocks_.begin(), blocks_.end(), [&](const ConvolutionBlock& block) {
    return block->is_training() == training &&
           (block->norm.is_empty() || block->norm->is_training() == training);
  });
}

std::vector<PassLayer> FeatureExtractorImpl::pass_layers() const {
  std::vector<PassLayer> layers;
  for (std::size_t l = 0; l < blocks_.size(); ++l) {
    const ConvolutionBlock& block = blocks_[l];
    PassLayer layer;
    layer.weight = block->convolution->weight.detach().contiguous();
    layer.bias = block->convolution->bias.detach();
    if (!block->norm.is_empty()) {
      layer.scale = block->norm->weight.detach();
      layer.shift = block->norm->bias.detach();
      layer.running_mean = block->norm->running_mean;
      layer.running_variance = block->norm->running_var;
    }
    layer.kernel = options_.layers[l].kernel;
    layer.stride = options_.layers[l].stride;
    layers.push_back(std::move(layer));
  }
  return layers;
}

PassOptions FeatureExtractorImpl::pass_options() const {
  return {options_.activation == Activation::relu ? 0.0 : options_.slope, options_.norm_epsilon,
          options_.norm_momentum};
}

}  // namespace seam::nn
