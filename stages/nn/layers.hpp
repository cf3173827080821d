/// PyTorch's layers, under the same names, with results on CPUs that do not depend on the number of
/// threads.
///
/// LibTorch adds up a batch in as many parts as there are threads: in the statistics of batch
/// normalisation, in the gradients of a convolution's weights and in some matrix products; and for
/// some sizes oneDNN convolves differently with a different number of threads. Here the parts are
/// fixed, each is computed by one thread, and they are added in their order:
///
///     batch [N,...] ─► at most 8 parts [n,...] ─► one thread each ─► ((p1 + p2) + p3) + ...
///
/// On other devices these are LibTorch's.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

namespace seam::nn {

/// x [N,I] times the transposed weight [O,I], plus bias [O] if it is defined: torch::linear with
/// sums in fixed parts.
[[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight,
                                   const torch::Tensor& bias = {});

class Conv2dImpl : public torch::nn::Conv2dImpl {
 public:
  using torch::nn::Conv2dImpl::Conv2dImpl;
  torch::Tensor forward(const torch::Tensor& x);
};
TORCH_MODULE(Conv2d);

class ConvTranspose2dImpl : public torch::nn::ConvTranspose2dImpl {
 public:
  using torch::nn::ConvTranspose2dImpl::ConvTranspose2dImpl;
  torch::Tensor forward(const torch::Tensor& x);
};
TORCH_MODULE(ConvTranspose2d);

class BatchNorm2dImpl : public torch::nn::BatchNorm2dImpl {
 public:
  using torch::nn::BatchNorm2dImpl::BatchNorm2dImpl;
  torch::Tensor forward(const torch::Tensor& x);
};
TORCH_MODULE(BatchNorm2d);

/// Keras' defaults for batch normalisation, which the released code of SCCapsNet uses. The momentum
/// is the weight of the new batch; Keras writes 0.99.
inline constexpr double keras_epsilon = 1e-3;
inline constexpr double keras_momentum = 0.01;
[[nodiscard]] inline BatchNorm2d keras_norm(std::int64_t channels) {
  return BatchNorm2d(
      torch::nn::BatchNorm2dOptions(channels).eps(keras_epsilon).momentum(keras_momentum));
}

class LinearImpl : public torch::nn::LinearImpl {
 public:
  using torch::nn::LinearImpl::LinearImpl;
  torch::Tensor forward(const torch::Tensor& x);
};
TORCH_MODULE(Linear);

}  // namespace seam::nn
