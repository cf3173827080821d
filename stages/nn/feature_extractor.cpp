#include "stages/nn/feature_extractor.hpp"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <string>
#include <utility>

#include <seam/error.hpp>

#include "stages/counted.hpp"

namespace seam::nn {

using torch::Tensor;

ConvolutionBlockImpl::ConvolutionBlockImpl(std::int64_t in_channels, const ConvolutionLayer& layer,
                                           bool bare) {
  convolution = register_module(
      "c", Conv2d(torch::nn::Conv2dOptions(in_channels, layer.out_channels, layer.kernel)
                      .stride(layer.stride)));
  if (bare) return;
  norm = register_module("bn", keras_norm(layer.out_channels));
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
  std::int64_t in = options_.in_channels;
  for (const ConvolutionLayer& layer : options_.layers) {
    if (layer.out_channels < 1 || layer.kernel < 1 || layer.stride < 1) {
      throw Error("a convolution's channels, kernel and stride must be at least 1",
                  Fault::configuration);
    }
    const std::size_t number = blocks_.size();
    const bool bare =
        options_.normalisation == Normalisation::none || number + 1 == options_.layers.size();
    ConvolutionBlock block(in, layer, bare);
    initialise(block->convolution, seed, number);
    blocks_.push_back(register_module(std::to_string(number), block));
    in = layer.out_channels;
  }
}

bool FeatureExtractorImpl::padded(std::size_t layer) const {
  return options_.padding == Padding::all ||
         (options_.padding == Padding::last && layer + 1 == options_.layers.size());
}

MapSize FeatureExtractorImpl::map_size(std::int64_t height, std::int64_t width) const {
  const std::string images = stages::width_by_height(width, height);
  for (std::size_t at = 0; at < options_.layers.size(); ++at) {
    const ConvolutionLayer& layer = options_.layers[at];
    if (padded(at)) {
      height = same_size(height, layer.stride);
      width = same_size(width, layer.stride);
      continue;
    }
    if (height < layer.kernel || width < layer.kernel) {
      throw Error("images of " + images + " (width x height) are too small for " +
                  std::to_string(options_.layers.size()) +
                  " convolutions without padding; give larger ones, or choose smaller kernels or "
                  "`features` with padding, if the model has these parameters");
    }
    height = (height - layer.kernel) / layer.stride + 1;
    width = (width - layer.kernel) / layer.stride + 1;
  }
  return {options_.layers.back().out_channels, height, width};
}

Tensor FeatureExtractorImpl::forward(const Tensor& images, const DropoutKey& key) {
  check_images(images, options_.in_channels, blocks_.front()->convolution->weight.scalar_type());
  if (!kernels_cover(images)) return forward_plain(images, key);
  if (every_block_is(true)) return train_with_kernels(images, key);
  const std::vector<Tensor> weights = parameters();
  const bool graph = torch::GradMode::is_enabled() &&
                     std::any_of(weights.begin(), weights.end(),
                                 [](const Tensor& weight) { return weight.requires_grad(); });
  if (graph || !every_block_is(false)) return forward_plain(images, key);
  return evaluate_pass(pass_layers(), options_.slope, images);
}

Tensor FeatureExtractorImpl::forward_plain(const Tensor& images, const DropoutKey& key) {
  check_images(images, options_.in_channels, blocks_.front()->convolution->weight.scalar_type());
  (void)map_size(images.size(2), images.size(3));  // rejects images that are too small
  // Channels last from end to end: no convolution reorders its input.
  Tensor x = images.contiguous(torch::MemoryFormat::ChannelsLast);
  for (std::size_t l = 0; l < blocks_.size(); ++l) {
    ConvolutionBlock& block = blocks_[l];
    if (padded(l)) x = same_padded(x, options_.layers[l].kernel, options_.layers[l].stride);
    x = block->convolution->forward(x);
    if (l + 1 == blocks_.size()) break;
    if (!block->norm.is_empty()) x = block->norm->forward(x);
    drop_and_activate(x, block->is_training() ? options_.dropout : 0, options_.slope, key,
                      static_cast<std::int64_t>(l));
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
  return train_pass(pass_layers(), options_.slope, images, keep, parameters());
}

bool FeatureExtractorImpl::kernels_cover(const Tensor& images) const {
  return options_.padding == Padding::all && options_.normalisation == Normalisation::batch &&
         images.device().is_cpu() &&
         c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCPU) &&  // no autocast
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

}  // namespace seam::nn
