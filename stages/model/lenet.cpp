#include "stages/model/lenet.hpp"

#include <algorithm>

#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include "stages/counted.hpp"
#include "stages/model/base/image_size.hpp"
#include "stages/nn/embedding.hpp"

namespace seam::nn {
namespace {

constexpr std::int64_t lenet_kernel = 5;
constexpr std::int64_t lenet_least_side = 16;  // 16 -> 12 -> 6 -> 2 -> 1 pixels

/// After both convolutions and poolings.
std::int64_t side_left(std::int64_t side) {
  return ((side - lenet_kernel + 1) / 2 - lenet_kernel + 1) / 2;
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
    throw Error("images of " +
                    stages::width_by_height(options_.image_width, options_.image_height) +
                    " pixels are too small for LeNet, which needs at least " +
                    stages::width_by_height(lenet_least_side, lenet_least_side),
                Fault::configuration);
  }
  conv1_ = register_module("conv1", Conv2d(torch::nn::Conv2dOptions(3, c[0], lenet_kernel)));
  conv2_ = register_module("conv2", Conv2d(torch::nn::Conv2dOptions(c[0], c[1], lenet_kernel)));
  fc1_ = register_module("fc1", Linear(c[1] * height * width, h[0]));
  fc2_ = register_module("fc2", Linear(h[0], h[1]));
  embedding_ = register_module("embedding", Linear(h[1], options_.dimensions));
}

Tensor LeNetImpl::forward(const Tensor& images) {
  if (images.size(2) != options_.image_height || images.size(3) != options_.image_width) {
    throw Error("the network is for images of " +
                    stages::width_by_height(options_.image_width, options_.image_height) +
                    " (width x height), but these have " +
                    stages::width_by_height(images.size(3), images.size(2)) +
                    "; set image_height and image_width, or put image.resize before batch",
                Fault::configuration);
  }
  Tensor x = torch::max_pool2d(conv1_(images).relu(), 2);
  x = torch::max_pool2d(conv2_(x).relu(), 2);
  x = fc2_(fc1_(x.flatten(1)).relu()).relu();
  x = precise(embedding_, x);
  return options_.unit_length ? unit(x) : x;
}

}  // namespace seam::nn

namespace seam::stages {

void LeNet::declare(Declaration& d) {
  d.doc(
      "LeNet-5 (LeCun et al. 1998) with rectifiers, max pooling and an embedding: the smallest "
      "baseline of Siamese Capsule Networks.");
  declare_image_size(d, options_.image_height, options_.image_width);
  d.parameter("channels", options_.channels, "channels of the two convolutions").range(1, 65536);
  d.parameter("hidden", options_.hidden, "units of the two dense layers").range(1, 65536);
  d.needs(field::images)
      .contract(images_of_size(options_.image_height, options_.image_width, nn::lenet_least_side));
  declare_embedding(d);
}

}  // namespace seam::stages
