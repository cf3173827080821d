#include "stages/nn/dense_decoder.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <utility>

#include <seam/error.hpp>

#include "stages/nn/fixed_parts.hpp"
#include "stages/nn/initialisation.hpp"

namespace seam::nn {

using torch::Tensor;

DenseDecoderImpl::DenseDecoderImpl(DenseDecoderOptions options, std::uint64_t seed)
    : options_(std::move(options)) {
  std::vector<std::int64_t> sizes{options_.classes * options_.capsule_size};
  sizes.insert(sizes.end(), options_.hidden.begin(), options_.hidden.end());
  sizes.push_back(options_.channels * options_.images.height * options_.images.width);
  bool sensible = (options_.channels == 1 || options_.channels == 3) && options_.classes > 0 &&
                  options_.images.height > 0;
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
  if (capsules.dim() != 3 || capsules.size(1) != options_.classes ||
      capsules.size(2) != options_.capsule_size) {
    throw Error("the decoder needs " + std::to_string(options_.classes) + " capsules of " +
                    std::to_string(options_.capsule_size) + " elements per image",
                Fault::internal);
  }
  Tensor x = mask_capsules(capsules, categories);
  for (std::size_t at = 0; at + 1 < layers_.size(); ++at) x = layers_[at]->forward(x).relu_();
  x = layers_.back()->forward(x).to(layers_.back()->weight.scalar_type());
  // In parts: at the end of a thread's share, the exponential function is computed differently.
  const Tensor picture = by_parts(
      x, {}, [](const Tensor& rows, const Tensor& /*none*/) { return torch::sigmoid(rows); });
  return picture.view({-1, options_.channels, options_.images.height, options_.images.width})
      .expand({-1, 3, -1, -1});
}

}  // namespace seam::nn
