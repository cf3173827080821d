#include "stages/nn/capsule_decoder.hpp"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <utility>

#include <seam/error.hpp>

#include "stages/nn/feature_extractor.hpp"
#include "stages/nn/fixed_parts.hpp"
#include "stages/nn/initialisation.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

void check(const CapsuleDecoderOptions& options) {
  std::int64_t stride = 1;
  bool sensible = options.classes > 0 && options.capsule_size > 0 && options.dense_channels > 0 &&
                  options.images.height > 0 && options.images.width > 0;
  for (const ConvolutionLayer& layer : options.layers) {
    sensible = sensible && layer.out_channels > 0 && layer.stride > 0 &&
               layer.kernel >= layer.stride && stride < 65536;
    if (sensible) stride *= layer.stride;
  }
  if (!sensible || options.layers.empty() || options.layers.back().out_channels != 3) {
    throw Error(
        "a capsule decoder needs sizes of at least 1, kernels at least as large as their strides, "
        "and 3 channels in its last convolution",
        Fault::configuration);
  }
  if (options.images.height % stride != 0 || options.images.width % stride != 0) {
    throw Error("the decoder's strides multiply sizes by " + std::to_string(stride) +
                    ", so `image_height` (" + std::to_string(options.images.height) +
                    ") and `image_width` (" + std::to_string(options.images.width) +
                    ") must be multiples of it",
                Fault::configuration);
  }
}

}  // namespace

CapsuleDecoderImpl::CapsuleDecoderImpl(CapsuleDecoderOptions options, std::uint64_t seed)
    : options_(std::move(options)) {
  check(options_);
  height_ = options_.images.height;
  width_ = options_.images.width;
  for (const ConvolutionLayer& layer : options_.layers) {
    height_ /= layer.stride;
    width_ /= layer.stride;
  }
  const torch::NoGradGuard no_gradient;
  const std::int64_t inputs = options_.classes * options_.capsule_size;
  const std::int64_t numbers = options_.dense_channels * height_ * width_;
  dense_ = register_module("dense", Linear(inputs, numbers));
  std::uint64_t stream = 0;
  dense_->weight.copy_(glorot_uniform({numbers, inputs}, inputs, numbers, seed, stream++));
  dense_->bias.zero_();
  const FeatureExtractorOptions usual;
  std::int64_t in = options_.dense_channels;
  for (const ConvolutionLayer& layer : options_.layers) {
    const std::string number = std::to_string(convolutions_.size() + 1);
    const std::int64_t out = layer.out_channels;
    ConvTranspose2d convolution(torch::nn::ConvTranspose2dOptions(in, out, layer.kernel)
                                    .stride(layer.stride)
                                    .padding((layer.kernel - layer.stride) / 2));
    const std::int64_t area = layer.kernel * layer.kernel;
    convolution->weight.copy_(glorot_uniform({in, out, layer.kernel, layer.kernel}, in * area,
                                             out * area, seed, stream++));
    convolution->bias.zero_();
    convolutions_.push_back(register_module("conv" + number, convolution));
    if (convolutions_.size() < options_.layers.size()) {
      norms_.push_back(
          register_module("bn" + number, BatchNorm2d(torch::nn::BatchNorm2dOptions(out)
                                                         .eps(usual.norm_epsilon)
                                                         .momentum(usual.norm_momentum))));
    }
    in = out;
  }
}

Tensor CapsuleDecoderImpl::forward(const Tensor& capsules, const Tensor& categories) {
  if (capsules.dim() != 3 || capsules.size(1) != options_.classes ||
      capsules.size(2) != options_.capsule_size) {
    throw Error("the decoder needs " + std::to_string(options_.classes) + " capsules of " +
                    std::to_string(options_.capsule_size) + " elements per image",
                Fault::internal);
  }
  Tensor x = dense_(mask_capsules(capsules, categories)).relu_();
  x = x.view({x.size(0), height_, width_, options_.dense_channels}).permute({0, 3, 1, 2});
  for (std::size_t at = 0; at < convolutions_.size(); ++at) {
    const std::int64_t height = x.size(2) * options_.layers[at].stride;
    const std::int64_t width = x.size(3) * options_.layers[at].stride;
    // "SAME" removes more after than before if the kernel and the stride differ by an odd number,
    // but the convolution removes equal amounts: one row and column are left over.
    x = convolutions_[at](x)
            .narrow(2, 0, height)
            .narrow(3, 0, width)
            .contiguous(torch::MemoryFormat::ChannelsLast);
    if (at == norms_.size()) break;
    x = norms_[at](x);
    torch::leaky_relu_(x, options_.slope);
  }
  // In parts: at the end of a thread's share, the exponential function is computed differently.
  return by_parts(x.to(dense_->weight.scalar_type()), {},
                  [](const Tensor& rows, const Tensor& /*none*/) { return torch::sigmoid(rows); });
}

}  // namespace seam::nn
