/// The extractor's pass by our own kernels: on CPUs, in float32 and float64.
///
/// Training keeps the raw outputs of the convolutions and nothing else: normalisation, activation
/// and dropout are computed again in the backward pass, while the padded copy that the convolution
/// reads is made. Sums over images and pixels are made in fixed parts and added in a fixed order,
/// so the results are bit-identical for any number of threads. The gradient of the images is not
/// computed.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace seam::nn {

/// One convolution with its tensors, all of one type and in LibTorch's default layout.
struct PassLayer {
  torch::Tensor weight, bias;
  // Undefined for the last layer.
  torch::Tensor scale, shift, running_mean, running_variance;
  std::int64_t kernel = 0, stride = 0;
};

/// With batch statistics, which update the running ones. `slope` is the activation's below zero.
/// `keep` has the dropout factors [N,C] of all layers except the last. If gradients are enabled,
/// `weights` get theirs: of every layer the weight, the bias and, except for the last, scale and
/// shift, whose values are those in `layers`.
[[nodiscard]] torch::Tensor train_pass(std::vector<PassLayer> layers, double slope,
                                       const torch::Tensor& images,
                                       const std::vector<torch::Tensor>& keep,
                                       const std::vector<torch::Tensor>& weights);

/// With running statistics and without a graph. Memory does not grow with the batch.
[[nodiscard]] torch::Tensor evaluate_pass(const std::vector<PassLayer>& layers, double slope,
                                          const torch::Tensor& images);

}  // namespace seam::nn
