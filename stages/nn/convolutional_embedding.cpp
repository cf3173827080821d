#include "stages/nn/convolutional_embedding.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include <algorithm>
#include <string>

namespace seam::nn {
namespace {

constexpr std::int64_t kernel = 7;
constexpr std::int64_t stride = 2;

/// "SAME": as many outputs as a stride fits into the input, with more padding after than before if
/// it is odd.
torch::Tensor padded(const torch::Tensor& x) {
  const auto around = [](std::int64_t size) {
    const std::int64_t outputs = (size + stride - 1) / stride;
    return std::max<std::int64_t>(0, (outputs - 1) * stride + kernel - size);
  };
  const std::int64_t height = around(x.size(2));
  const std::int64_t width = around(x.size(3));
  return torch::constant_pad_nd(x, {width / 2, width - width / 2, height / 2, height - height / 2});
}

}  // namespace

ConvolutionalEmbeddingImpl::ConvolutionalEmbeddingImpl(const ConvolutionalEmbeddingOptions& options)
    : pool_(register_module("pool", GlobalPooling(options.pooling))),
      embedding_(register_module("embedding", Linear(options.channels, options.dimensions))),
      dropout_(options.dropout),
      unit_length_(options.unit_length) {
  const std::vector<std::int64_t> channels{3, options.width, 2 * options.width, options.width,
                                           options.channels};
  for (std::size_t at = 1; at < channels.size(); ++at) {
    const std::string number = std::to_string(at);
    convolutions_.push_back(register_module(
        "conv" + number,
        Conv2d(torch::nn::Conv2dOptions(channels[at - 1], channels[at], kernel).stride(stride))));
    torch::nn::init::xavier_uniform_(convolutions_.back()->weight);  // Glorot's, as SCCapsNet
    torch::nn::init::zeros_(convolutions_.back()->bias);
    if (at + 1 == channels.size()) break;
    norms_.push_back(register_module(
        "norm" + number,
        BatchNorm2d(torch::nn::BatchNorm2dOptions(channels[at]).eps(1e-3).momentum(0.01))));
  }
}

torch::Tensor ConvolutionalEmbeddingImpl::forward(const torch::Tensor& images) {
  torch::Tensor x = images;
  for (std::size_t at = 0; at < norms_.size(); ++at) {
    x = norms_[at](convolutions_[at](padded(x))).relu_();
    x = torch::feature_dropout(x, dropout_, is_training());
  }
  torch::Tensor embedding = embedding_(pool_(convolutions_.back()(padded(x)).relu_()));
  if (!unit_length_) return embedding;
  namespace functional = torch::nn::functional;
  return functional::normalize(embedding, functional::NormalizeFuncOptions().dim(1));
}

}  // namespace seam::nn
