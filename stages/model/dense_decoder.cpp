#include "stages/model/dense_decoder.hpp"

#include <torch/types.h>
#include <torch/utils.h>
#include <seam/error.hpp>

#include "stages/nn/fixed_parts.hpp"

namespace seam::nn {

DenseDecoderImpl::DenseDecoderImpl(DenseDecoderOptions options, std::uint64_t seed)
    : options_(std::move(options)) {
  require_image_size(options_.images);
  std::vector<std::int64_t> sizes{options_.classes * options_.capsule_size};
  sizes.insert(sizes.end(), options_.hidden.begin(), options_.hidden.end());
  sizes.push_back(options_.channels * options_.images.height * options_.images.width);
  bool sensible = (options_.channels == 1 || options_.channels == 3) && options_.classes > 0;
  for (const std::int64_t size : sizes) sensible = sensible && size > 0;
  if (!sensible) {
    throw Error("a dense decoder needs sizes of at least 1, and 1 or 3 channels",
                Fault::configuration);
  }
  const torch::NoGradGuard no_gradient;
  for (std::size_t at = 0; at + 1 < sizes.size(); ++at) {
    Linear layer(sizes[at], sizes[at + 1]);
    layer->weight.copy_(
        glorot_uniform({sizes[at + 1], sizes[at]}, sizes[at], sizes[at + 1], seed, at));
    layer->bias.zero_();
    layers_.push_back(register_module(std::to_string(at), layer));
  }
}

Tensor DenseDecoderImpl::forward(const Tensor& capsules, const Tensor& categories) {
  Tensor x = kept_capsule(capsules, categories, options_);
  for (std::size_t at = 0; at + 1 < layers_.size(); ++at) x = layers_[at]->forward(x).relu_();
  x = layers_.back()->forward(x).to(layers_.back()->weight.scalar_type());
  // In parts: at the end of a thread's share, the exponential function is computed differently.
  const Tensor picture = by_parts(x, torch::sigmoid);
  return picture.view({-1, options_.channels, options_.images.height, options_.images.width})
      .expand({-1, 3, -1, -1});
}

}  // namespace seam::nn

namespace seam::stages {

void DenseDecoder::declare(Declaration& d) {
  d.doc(
      "The decoder of the first capsule network (Sabour et al. 2017): draws an image from one "
      "class capsule by dense layers. In training this is the capsule of the image's category, in "
      "evaluation the longest one.");
  declare_sizes(d);
  d.parameter("hidden", options_.hidden, "units of the layers before the last one, which have ReLU")
      .range(1, 65536);
  d.parameter("channels", options_.channels,
              "channels to draw: 1 (grey, as three equal channels) or 3")
      .range(1, 3);
  declare_decoder(d);
}

}  // namespace seam::stages
