#include "stages/nn/image_features.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <seam/error.hpp>

#include "stages/nn/initialisation.hpp"
#include "stages/nn/kernels/convolution.hpp"

namespace seam::nn {

using torch::Tensor;

Tensor ImageFeaturesImpl::forward(const Tensor& images) {
  return forward(images, is_training() ? DropoutKey::drawn() : DropoutKey{});
}

std::int64_t same_size(std::int64_t size, std::int64_t stride) {
  return (size + stride - 1) / stride;
}

Tensor same_padded(const Tensor& x, std::int64_t kernel, std::int64_t stride) {
  const std::int64_t height = kernels::same_padding_total(x.size(2), kernel, stride);
  const std::int64_t width = kernels::same_padding_total(x.size(3), kernel, stride);
  return torch::constant_pad_nd(x, {width / 2, width - width / 2, height / 2, height - height / 2});
}

void initialise(Conv2d& convolution, std::uint64_t seed, std::uint64_t stream) {
  const torch::NoGradGuard no_gradient;
  const Tensor& weight = convolution->weight;
  const std::int64_t area = weight.size(2) * weight.size(3);
  weight.copy_(glorot_uniform(weight.sizes().vec(), weight.size(1) * area, weight.size(0) * area,
                              seed, stream));
  convolution->bias.zero_();
}

void drop_and_activate(Tensor& x, double rate, double slope, const DropoutKey& key,
                       std::int64_t layer) {
  if (rate > 0) {
    x.mul_(spatial_dropout(x.size(0), x.size(1), rate, key, layer, x.scalar_type())
               .to(x.device())
               .unsqueeze(-1)
               .unsqueeze(-1));
  }
  if (slope == 0) {
    x.relu_();
  } else {
    torch::leaky_relu_(x, slope);
  }
}

Tensor as_channels(const Tensor& images, std::int64_t channels) {
  if (images.dim() != 4 || images.size(1) != 3 || (channels != 1 && channels != 3)) {
    throw Error(c10::str("images [N,3,H,W] can become images of 1 or 3 channels, not ",
                         images.sizes(), " images of ", channels),
                Fault::internal);
  }
  if (channels == 3) return images;
  const Tensor red = images.narrow(1, 0, 1);
  // By differences, so that equal channels give exactly their value.
  return red + 0.587 * (images.narrow(1, 1, 1) - red) + 0.114 * (images.narrow(1, 2, 1) - red);
}

void check_images(const Tensor& images, std::int64_t channels, torch::ScalarType type) {
  if (images.dim() == 4 && images.size(1) == channels && images.numel() > 0 &&
      images.scalar_type() == type) {
    return;
  }
  throw Error(
      c10::str("the feature extractor needs ", torch::toString(type), " images [N,", channels,
               ",H,W], not ", torch::toString(images.scalar_type()), " ", images.sizes()),
      Fault::internal);
}

}  // namespace seam::nn
