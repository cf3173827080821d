#include "stages/nn/residual_features.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include <algorithm>
#include <string>
#include <utility>

#include <seam/error.hpp>

namespace seam::nn {
namespace {

using torch::Tensor;

constexpr std::int64_t block_stride = 2;

Conv2d block_convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                         std::int64_t stride) {
  return Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride));
}

}  // namespace

ResidualFeatureBlockImpl::ResidualFeatureBlockImpl(std::int64_t in, std::int64_t out)
    : conv1(register_module("conv1", block_convolution(in, out, 3, block_stride))),
      conv2(register_module("conv2", block_convolution(out, out, 3, 1))),
      shortcut(register_module("shortcut", block_convolution(in, out, 1, block_stride))),
      bn1(register_module("bn1", keras_norm(out))),
      bn2(register_module("bn2", keras_norm(out))),
      shortcut_bn(register_module("shortcut_bn", keras_norm(out))) {}

Tensor ResidualFeatureBlockImpl::forward(const Tensor& x, double slope, double dropout,
                                         const DropoutKey& key, std::int64_t layer) {
  Tensor main = bn1(conv1(same_padded(x, 3, block_stride)));
  drop_and_activate(main, 0, slope, key, layer);
  main = bn2(conv2(same_padded(main, 3, 1)));
  main.add_(shortcut_bn(shortcut(x)));
  drop_and_activate(main, is_training() ? dropout : 0, slope, key, layer);
  return main;
}

ResidualFeaturesImpl::ResidualFeaturesImpl(ResidualFeaturesOptions options, std::uint64_t seed)
    : options_(std::move(options)) {
  const ConvolutionLayer& stem = options_.stem;
  if (options_.blocks.empty() || stem.out_channels < 1 || stem.kernel < 1 || stem.stride < 1 ||
      *std::min_element(options_.blocks.begin(), options_.blocks.end()) < 1) {
    throw Error("residual features need at least one block, and all sizes at least 1",
                Fault::configuration);
  }
  stem_ = register_module("stem", ConvolutionBlock(3, stem, false));
  std::uint64_t stream = 0;
  initialise(stem_->convolution, seed, stream++);
  std::int64_t in = stem.out_channels;
  for (const std::int64_t out : options_.blocks) {
    ResidualFeatureBlock block(in, out);
    for (Conv2d* part : {&block->conv1, &block->conv2, &block->shortcut}) {
      initialise(*part, seed, stream++);
    }
    blocks_.push_back(register_module("block" + std::to_string(blocks_.size() + 1), block));
    in = out;
  }
}

Tensor ResidualFeaturesImpl::forward(const Tensor& images, const DropoutKey& key) {
  check_images(images, 3, stem_->convolution->weight.scalar_type());
  Tensor x = images.contiguous(torch::MemoryFormat::ChannelsLast);
  x = stem_->norm(stem_->convolution(same_padded(x, options_.stem.kernel, options_.stem.stride)));
  drop_and_activate(x, stem_->is_training() ? options_.dropout : 0, options_.stem_slope, key, 0);
  for (std::size_t at = 0; at < blocks_.size(); ++at) {
    const double dropout = at + 1 < blocks_.size() ? options_.dropout : 0;
    x = blocks_[at](x, options_.slope, dropout, key, static_cast<std::int64_t>(at + 1));
  }
  return x;
}

MapSize ResidualFeaturesImpl::map_size(std::int64_t height, std::int64_t width) const {
  height = same_size(height, options_.stem.stride);
  width = same_size(width, options_.stem.stride);
  for (std::size_t at = 0; at < blocks_.size(); ++at) {
    height = same_size(height, block_stride);
    width = same_size(width, block_stride);
  }
  return {options_.blocks.back(), height, width};
}

}  // namespace seam::nn
