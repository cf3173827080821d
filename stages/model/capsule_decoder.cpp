#include "stages/model/capsule_decoder.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <seam/error.hpp>

#include "stages/nn/feature_extractor.hpp"
#include "stages/nn/fixed_parts.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

void check(const CapsuleDecoderOptions& options) {
  const std::size_t convolutions = options.channels.size() + 1;
  const auto check_length = [&](const std::vector<std::int64_t>& list, const char* parameter) {
    if (list.size() == convolutions) return;
    throw Error("`" + std::string(parameter) + "` lists " + std::to_string(list.size()) +
                    " transposed convolutions, but there are " + std::to_string(convolutions) +
                    ": one more than `channels`, since the last has 3",
                Fault::configuration);
  };
  check_length(options.kernels, "kernels");
  check_length(options.strides, "strides");
  require_image_size(options.images);
  std::int64_t stride = 1;
  bool sensible = options.classes > 0 && options.capsule_size > 0 && options.dense_channels > 0;
  for (const std::int64_t channels : options.channels) sensible = sensible && channels > 0;
  for (std::size_t at = 0; at < convolutions; ++at) {
    sensible = sensible && options.strides[at] > 0 && options.kernels[at] >= options.strides[at] &&
               stride < 65536;
    if (sensible) stride *= options.strides[at];
  }
  if (!sensible) {
    throw Error(
        "a capsule decoder needs sizes of at least 1, and kernels at least as large as their "
        "strides",
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
  for (const std::int64_t stride : options_.strides) {
    height_ /= stride;
    width_ /= stride;
  }
  const torch::NoGradGuard no_gradient;
  const std::int64_t inputs = options_.classes * options_.capsule_size;
  const std::int64_t numbers = options_.dense_channels * height_ * width_;
  dense_ = register_module("dense", Linear(inputs, numbers));
  std::uint64_t stream = 0;
  dense_->weight.copy_(glorot_uniform({numbers, inputs}, inputs, numbers, seed, stream++));
  dense_->bias.zero_();
  std::int64_t in = options_.dense_channels;
  for (std::size_t at = 0; at < options_.kernels.size(); ++at) {
    const bool last = at == options_.channels.size();
    const std::string number = std::to_string(at + 1);
    const std::int64_t out = last ? 3 : options_.channels[at];
    const std::int64_t kernel = options_.kernels[at];
    const std::int64_t stride = options_.strides[at];
    ConvTranspose2d convolution(torch::nn::ConvTranspose2dOptions(in, out, kernel)
                                    .stride(stride)
                                    .padding((kernel - stride) / 2));
    const std::int64_t area = kernel * kernel;
    convolution->weight.copy_(
        glorot_uniform({in, out, kernel, kernel}, in * area, out * area, seed, stream++));
    convolution->bias.zero_();
    convolutions_.push_back(register_module("conv" + number, convolution));
    if (!last) norms_.push_back(register_module("bn" + number, keras_norm(out)));
    in = out;
  }
}

Tensor CapsuleDecoderImpl::forward(const Tensor& capsules, const Tensor& categories) {
  Tensor x = dense_(kept_capsule(capsules, categories, options_)).relu_();
  x = x.view({x.size(0), height_, width_, options_.dense_channels}).permute({0, 3, 1, 2});
  for (std::size_t at = 0; at < convolutions_.size(); ++at) {
    const std::int64_t height = x.size(2) * options_.strides[at];
    const std::int64_t width = x.size(3) * options_.strides[at];
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
  return by_parts(x.to(dense_->weight.scalar_type()), torch::sigmoid);
}

}  // namespace seam::nn

namespace seam::stages {

void CapsuleDecoder::declare(Declaration& d) {
  d.doc(
      "The decoder of the classifiers SCCapsNet-CLS and RCCapsNet-CLS (Kınlı 2019): draws an image "
      "from one class capsule by transposed convolutions. In training this is the capsule of the "
      "image's category, in evaluation the longest one.");
  nn::CapsuleDecoderOptions kernels_4;
  kernels_4.kernels = {4, 4, 4, 4, 4};
  nn::CapsuleDecoderOptions retrieval;
  retrieval.channels = {128, 64, 32, 16, 16};
  retrieval.kernels = {9, 7, 7, 5, 5, 5};
  retrieval.strides = {1, 2, 2, 2, 2, 2};
  d.preset("architecture", options_,
           "transposed convolutions with kernels of 9x9 or, as later in the released code, 4x4; or "
           "those of the released code of the retrieval networks, in which they are unused. Image "
           "height and width must be multiples of the product of the strides, which is 32",
           {{"kernels_9", nn::CapsuleDecoderOptions{}},
            {"kernels_4", kernels_4},
            {"retrieval", retrieval}});
  declare_sizes(d);
  d.parameter("dense_channels", options_.dense_channels,
              "channels of the map that a dense layer makes from the capsule")
      .range(1, 65536);
  d.parameter("channels", options_.channels,
              "channels of the transposed convolutions except the last, which has 3")
      .range(1, 65536);
  d.parameter("kernels", options_.kernels, "kernel sizes of all transposed convolutions")
      .range(1, 64);
  d.parameter("strides", options_.strides,
              "strides of all transposed convolutions, by which each multiplies height and width")
      .range(1, 16);
  d.parameter("slope", options_.slope, "slope of LeakyReLU below zero").range(0, 1);
  declare_decoder(d);
}

}  // namespace seam::stages
