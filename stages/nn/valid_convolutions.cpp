#include "stages/nn/valid_convolutions.hpp"

#include <torch/types.h>

#include <string>
#include <utility>

#include <seam/error.hpp>

namespace seam::nn {

using torch::Tensor;

ValidConvolutionsImpl::ValidConvolutionsImpl(ValidConvolutionsOptions options, std::uint64_t seed)
    : options_(std::move(options)) {
  std::int64_t in = options_.in_channels;
  for (const ConvolutionLayer& layer : options_.layers) {
    if (layer.out_channels < 1 || layer.kernel < 1 || layer.stride < 1) {
      throw Error("a convolution's channels, kernel and stride must be at least 1",
                  Fault::configuration);
    }
    const std::size_t number = blocks_.size();
    const bool bare =
        options_.normalisation == Normalisation::none || number + 1 == options_.layers.size();
    ConvolutionBlock block(in, layer, FeatureExtractorOptions{}, bare);
    initialise(block->convolution, seed, number);
    blocks_.push_back(register_module(std::to_string(number), block));
    in = layer.out_channels;
  }
  if (blocks_.empty()) throw Error("convolutions need at least one layer", Fault::configuration);
}

Tensor ValidConvolutionsImpl::forward(const Tensor& images, const DropoutKey& key) {
  check_images(images, options_.in_channels, blocks_.front()->convolution->weight.scalar_type());
  (void)map_size(images.size(2), images.size(3));  // rejects images that are too small
  Tensor x = images.contiguous(torch::MemoryFormat::ChannelsLast);
  for (std::size_t at = 0; at < blocks_.size(); ++at) {
    ConvolutionBlock& block = blocks_[at];
    const ConvolutionLayer& layer = options_.layers[at];
    if (padded(at)) x = same_padded(x, layer.kernel, layer.stride);
    x = block->convolution->forward(x);
    if (at + 1 == blocks_.size()) break;
    if (!block->norm.is_empty()) x = block->norm->forward(x);
    drop_and_activate(x, block->is_training() ? options_.dropout : 0, options_.slope, key,
                      static_cast<std::int64_t>(at));
  }
  return x;
}

MapSize ValidConvolutionsImpl::map_size(std::int64_t height, std::int64_t width) const {
  const std::string images = std::to_string(width) + "x" + std::to_string(height);
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

}  // namespace seam::nn
