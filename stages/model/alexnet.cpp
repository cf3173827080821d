#include "stages/model/alexnet.hpp"

#include <algorithm>

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/pooling.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include "stages/counted.hpp"
#include "stages/model/base/image_size.hpp"
#include "stages/nn/dropout.hpp"
#include "stages/nn/embedding.hpp"

namespace seam::nn {
namespace {

constexpr std::int64_t pooled_side = 6;
constexpr std::int64_t least_side = 63;  // 63 -> 15 -> 7 -> 3 -> 1 pixels

Conv2d alexnet_convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                           std::int64_t stride, std::int64_t padding) {
  return Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding));
}

torch::nn::MaxPool2d alexnet_pooling() {
  return torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(2));
}

}  // namespace

AlexNetImpl::AlexNetImpl(AlexNetOptions options) : options_(std::move(options)) {
  const std::vector<std::int64_t>& c = options_.channels;
  if (c.size() != 5 || *std::min_element(c.begin(), c.end()) < 1 || options_.hidden < 1 ||
      options_.dimensions < 1) {
    throw Error("AlexNet has five convolutions, and all sizes are at least 1; 'channels' lists " +
                    std::to_string(c.size()),
                Fault::configuration);
  }
  const auto relu = [] { return torch::nn::ReLU(); };
  // The indices in names also count activations and pooling.
  features_ = register_module(
      "features",
      torch::nn::Sequential(alexnet_convolution(3, c[0], 11, 4, 2), relu(), alexnet_pooling(),
                            alexnet_convolution(c[0], c[1], 5, 1, 2), relu(), alexnet_pooling(),
                            alexnet_convolution(c[1], c[2], 3, 1, 1), relu(),
                            alexnet_convolution(c[2], c[3], 3, 1, 1), relu(),
                            alexnet_convolution(c[3], c[4], 3, 1, 1), relu(), alexnet_pooling()));
  classifier_ = register_module("classifier", torch::nn::Sequential());
  // classifier.1 and classifier.4: dropout comes before each and is drawn by forward().
  classifier_->push_back("1", Linear(c[4] * pooled_side * pooled_side, options_.hidden));
  classifier_->push_back("4", Linear(options_.hidden, options_.hidden));
  embedding_ = register_module("embedding", Linear(options_.hidden, options_.dimensions));
}

Tensor AlexNetImpl::dense(Tensor x) {
  const bool drop = classifier_->is_training() && options_.dropout > 0;  // not if it is frozen
  const DropoutKey key = drop ? DropoutKey::drawn() : DropoutKey();
  for (std::size_t layer = 0; layer < classifier_->size(); ++layer) {
    if (drop) {
      x = x * spatial_dropout(x.size(0), x.size(1), options_.dropout, key,
                              static_cast<std::int64_t>(layer), x.scalar_type())
                  .to(x.device());
    }
    x = classifier_->at<LinearImpl>(layer).forward(x).relu();
  }
  return x;
}

Tensor AlexNetImpl::forward(const Tensor& images) {
  if (std::min(images.size(2), images.size(3)) < least_side) {
    throw Error("images of " + stages::width_by_height(images.size(3), images.size(2)) +
                    " pixels (width x height) are too small for AlexNet; resize them to at least " +
                    stages::width_by_height(least_side, least_side),
                Fault::configuration);
  }
  const Tensor pooled =
      torch::adaptive_avg_pool2d(features_->forward(images), {pooled_side, pooled_side});
  const Tensor embedding = precise(embedding_, dense(pooled.flatten(1)));
  return options_.unit_length ? unit(embedding) : embedding;
}

}  // namespace seam::nn

namespace seam::stages {

void AlexNet::declare(Declaration& d) {
  d.doc(
      "AlexNet (Krizhevsky 2014) with an embedding instead of classes. Its weights are named as "
      "torchvision names them, so its files can be imported as they are.");
  d.parameter("channels", options_.channels, "channels of the five convolutions").range(1, 65536);
  d.parameter("hidden", options_.hidden, "units of both dense layers").range(1, 65536);
  d.parameter("dropout", options_.dropout,
              "dropout probability before each dense layer, in training")
      .range(0, 0.99);
  d.needs(field::images).contract(images_of_at_least(nn::least_side));
  declare_embedding(d);
}

}  // namespace seam::stages
