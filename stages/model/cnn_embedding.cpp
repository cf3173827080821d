#include "stages/model/cnn_embedding.hpp"

#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include <string>

#include "stages/nn/embedding.hpp"
#include "stages/nn/image_features.hpp"

namespace seam::nn {
namespace {

constexpr std::int64_t kernel = 7;
constexpr std::int64_t stride = 2;

Tensor padded(const Tensor& x) {
  return same_padded(x, kernel, stride);
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

Tensor ConvolutionalEmbeddingImpl::forward(const Tensor& images) {
  Tensor x = images;
  for (std::size_t at = 0; at < norms_.size(); ++at) {
    x = norms_[at](convolutions_[at](padded(x))).relu_();
    x = torch::feature_dropout(x, dropout_, is_training());
  }
  const Tensor embedding = embedding_(pool_(convolutions_.back()(padded(x)).relu_()));
  return unit_length_ ? unit(embedding) : embedding;
}

}  // namespace seam::nn

namespace seam::stages {

void CnnEmbedding::declare(Declaration& d) {
  d.doc(
      "The convolutions of SCCapsNet with pooling and a dense embedding instead of capsules. With "
      "the defaults it has 2,426,172 weights and running statistics, nearly as many as SCCapsNet. "
      "Any image size.");
  d.parameter("width", options_.width, "channels of the first convolution").range(1, 4096);
  d.parameter("channels", options_.channels, "channels of the last convolution").range(1, 65536);
  d.parameter("dropout", options_.dropout, "probability that a whole channel is zeroed in training")
      .range(0, 0.99);
  d.parameter(
      "pooling", options_.pooling, "pooling of the last convolution over the pixels",
      {{"average", nn::Pooling::average}, {"generalised_mean", nn::Pooling::generalised_mean}});
  d.needs(field::images);
  declare_embedding(d);
}

}  // namespace seam::stages
