#include "stages/nn/lenet.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include <algorithm>
#include <string>
#include <utility>

#include <seam/error.hpp>

namespace seam::nn {
namespace {

using torch::Tensor;

constexpr std::int64_t kernel = 5;

/// After both convolutions and poolings.
std::int64_t side_left(std::int64_t side) {
  return ((side - kernel + 1) / 2 - kernel + 1) / 2;
}

std::string size_text(std::int64_t height, std::int64_t width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

}  // namespace

LeNetImpl::LeNetImpl(LeNetOptions options) : options_(std::move(options)) {
  const std::vector<std::int64_t>& c = options_.channels;
  const std::vector<std::int64_t>& h = options_.hidden;
  if (c.size() != 2 || h.size() != 2 || std::min({c[0], c[1], h[0], h[1]}) < 1 ||
      options_.dimensions < 1) {
    throw Error("LeNet has two convolutions and two dense layers, and all sizes are at least 1",
                Fault::configuration);
  }
  const std::int64_t height = side_left(options_.image_height);
  const std::int64_t width = side_left(options_.image_width);
  if (height < 1 || width < 1) {
    throw Error("images of " + size_text(options_.image_height, options_.image_width) +
                    " pixels are too small for LeNet, which needs at least 16x16",
                Fault::configuration);
  }
  conv1_ = register_module("conv1", Conv2d(torch::nn::Conv2dOptions(3, c[0], kernel)));
  conv2_ = register_module("conv2", Conv2d(torch::nn::Conv2dOptions(c[0], c[1], kernel)));
  fc1_ = register_module("fc1", Linear(c[1] * height * width, h[0]));
  fc2_ = register_module("fc2", Linear(h[0], h[1]));
  embedding_ = register_module("embedding", Linear(h[1], options_.dimensions));
}

Tensor LeNetImpl::forward(const Tensor& images) {
  if (images.size(2) != options_.image_height || images.size(3) != options_.image_width) {
    throw Error(
        "the network is for images of " + size_text(options_.image_height, options_.image_width) +
            " pixels (height first), but these have " + size_text(images.size(2), images.size(3)) +
            "; set image_height and image_width, or put image.resize before batch",
        Fault::configuration);
  }
  Tensor x = torch::max_pool2d(conv1_(images).relu(), 2);
  x = torch::max_pool2d(conv2_(x).relu(), 2);
  x = fc2_(fc1_(x.flatten(1)).relu()).relu();
  // Scaled in the weights' type whatever the autocast type: distances depend on small differences.
  x = embedding_(x).to(embedding_->weight.scalar_type());
  if (!options_.unit_length) return x;
  return torch::nn::functional::normalize(x, torch::nn::functional::NormalizeFuncOptions().dim(1));
}

}  // namespace seam::nn
