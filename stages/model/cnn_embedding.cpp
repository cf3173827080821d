#include "stages/model/cnn_embedding.hpp"

#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include "stages/counted.hpp"
#include "stages/model/base/image_size.hpp"
#include "stages/nn/embedding.hpp"
#include "stages/nn/image_features.hpp"

namespace seam::nn {
namespace {

constexpr std::int64_t embedding_kernel = 7;
constexpr std::int64_t embedding_stride = 2;

Tensor padded_for_embedding(const Tensor& x) {
  return same_padded(x, embedding_kernel, embedding_stride);
}

}  // namespace

std::int64_t ConvolutionalEmbeddingOptions::features() const {
  if (pooling != Pooling::none) return channels;
  if (image_height < 1 || image_width < 1) {
    throw Error(
        "without pooling the dense layer depends on the size of the images; set image_height and "
        "image_width",
        Fault::configuration);
  }
  std::int64_t height = image_height;
  std::int64_t over = image_width;
  for (int layer = 0; layer < 4; ++layer) {
    height = same_size(height, embedding_stride);
    over = same_size(over, embedding_stride);
  }
  return channels * height * over;
}

ConvolutionalEmbeddingImpl::ConvolutionalEmbeddingImpl(const ConvolutionalEmbeddingOptions& options)
    : options_(options),
      pool_(register_module("pool", GlobalPooling(options.pooling))),
      embedding_(register_module("embedding", Linear(options.features(), options.dimensions))) {
  const std::vector<std::int64_t> channels{3, options.width, 2 * options.width, options.width,
                                           options.channels};
  for (std::size_t at = 1; at < channels.size(); ++at) {
    const std::string number = std::to_string(at);
    convolutions_.push_back(register_module(
        "conv" + number,
        Conv2d(torch::nn::Conv2dOptions(channels[at - 1], channels[at], embedding_kernel)
                   .stride(embedding_stride))));
    torch::nn::init::xavier_uniform_(convolutions_.back()->weight);  // Glorot's, as SCCapsNet
    torch::nn::init::zeros_(convolutions_.back()->bias);
    if (at + 1 == channels.size()) break;
    norms_.push_back(register_module(
        "norm" + number,
        BatchNorm2d(torch::nn::BatchNorm2dOptions(channels[at]).eps(1e-3).momentum(0.01))));
  }
}

Tensor ConvolutionalEmbeddingImpl::forward(const Tensor& images) {
  if (options_.pooling == Pooling::none &&
      (images.size(2) != options_.image_height || images.size(3) != options_.image_width)) {
    throw Error("images of " + stages::width_by_height(images.size(3), images.size(2)) +
                " (width x height), but without pooling the dense layer is for those of " +
                stages::width_by_height(options_.image_width, options_.image_height) +
                "; resize them, or set `image_height` and `image_width`");
  }
  Tensor x = images;
  for (std::size_t at = 0; at < norms_.size(); ++at) {
    x = norms_[at](convolutions_[at](padded_for_embedding(x))).relu_();
    x = torch::feature_dropout(x, options_.dropout, is_training());
  }
  const Tensor embedding =
      precise(embedding_, pool_(convolutions_.back()(padded_for_embedding(x)).relu_()));
  return options_.unit_length ? unit(embedding) : embedding;
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
  d.parameter("pooling", options_.pooling, "pooling of the last convolution over the pixels",
              {{"average", nn::Pooling::average},
               {"generalised_mean", nn::Pooling::generalised_mean},
               {"none", nn::Pooling::none}});
  declare_image_size(d, options_.image_height, options_.image_width, std::pair("pooling", "none"));
  FieldBuilder images = d.needs(field::images);
  if (options_.pooling == nn::Pooling::none) {
    images.contract(images_of_size(options_.image_height, options_.image_width, 1));
  }
  declare_embedding(d);
}

}  // namespace seam::stages
