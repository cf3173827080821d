#include "stages/nn/mirrored_convolutions.hpp"

#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include <string>
#include <utility>

#include <seam/error.hpp>

#include "stages/width_by_height.hpp"

namespace seam::nn {

using torch::Tensor;

MirroredConvolutionsImpl::MirroredConvolutionsImpl(MirroredConvolutionsOptions options,
                                                   std::uint64_t seed)
    : options_(std::move(options)) {
  const ConvolutionLayer& last = options_.primary;
  bool sensible = !options_.mirrored.empty() && last.out_channels > 0 && last.kernel > 0 &&
                  last.stride > 0 && options_.in_channels > 0;
  for (const std::int64_t channels : options_.mirrored) sensible = sensible && channels > 0;
  if (!sensible) {
    throw Error("mirrored convolutions need at least one layer, and sizes of at least 1",
                Fault::configuration);
  }
  std::uint64_t stream = 0;
  std::int64_t in = options_.in_channels;
  for (const std::int64_t out : options_.mirrored) {
    const std::string number = std::to_string(convolutions_.size());
    Conv2d convolution(torch::nn::Conv2dOptions(in, out, 3));
    initialise(convolution, seed, stream++);
    auto block = std::make_shared<torch::nn::Module>();
    convolutions_.push_back(block->register_module("c", convolution));
    norms_.push_back(block->register_module("bn", BatchNorm2d(out)));
    register_module(number, block);
    in = out;
  }
  halve_ = register_module("halve", Conv2d(torch::nn::Conv2dOptions(in, in, 2).stride(2)));
  initialise(halve_, seed, stream++);
  primary_ = register_module(
      "primary",
      Conv2d(torch::nn::Conv2dOptions(in, last.out_channels, last.kernel).stride(last.stride)));
  initialise(primary_, seed, stream++);
}

Tensor MirroredConvolutionsImpl::forward(const Tensor& images, const DropoutKey& key) {
  check_images(images, options_.in_channels, primary_->weight.scalar_type());
  (void)map_size(images.size(2), images.size(3));  // rejects images that are too small
  Tensor x = images;
  for (std::size_t at = 0; at < convolutions_.size(); ++at) {
    x = torch::reflection_pad2d(x, {1, 1, 1, 1}).contiguous(torch::MemoryFormat::ChannelsLast);
    x = convolutions_[at]->forward(x);
    drop_and_activate(x, convolutions_[at]->is_training() ? options_.dropout : 0, options_.slope,
                      key, static_cast<std::int64_t>(at));
    x = norms_[at]->forward(x);
  }
  return primary_->forward(halve_->forward(x));
}

MapSize MirroredConvolutionsImpl::map_size(std::int64_t height, std::int64_t width) const {
  const ConvolutionLayer& last = options_.primary;
  if (height / 2 < last.kernel || width / 2 < last.kernel) {
    throw Error("images of " + stages::width_by_height(width, height) +
                " (width x height) are too small for a convolution of stride 2 and then one of " +
                stages::width_by_height(last.kernel, last.kernel) +
                " without padding; give larger ones");
  }
  return {last.out_channels, (height / 2 - last.kernel) / last.stride + 1,
          (width / 2 - last.kernel) / last.stride + 1};
}

}  // namespace seam::nn
