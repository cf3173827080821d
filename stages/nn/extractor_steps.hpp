/// The state of the extractor's forward pass with kernels, layer by layer, and functions that both
/// directions share. Included by extractor_pass.cpp and extractor_gradient.cpp.
#pragma once

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stages/nn/kernels/convolution.hpp"

namespace seam::nn {

/// Output rows that one task of a forward pass makes: their input window fits the second-level
/// cache.
constexpr std::int64_t rows_of_a_task = 8;

/// Images whose outputs are made together: small ones take turns at a part of the weights while it
/// lies in the cache. Depends only on the shape, so that the results are the same on any machine.
inline std::int64_t images_of_a_task(const kernels::ConvolutionShape& shape) {
  constexpr std::int64_t pixels_of_a_task = 64;
  return std::clamp<std::int64_t>(pixels_of_a_task / (shape.out_height * shape.out_width), 1, 4);
}

inline std::int64_t whole_lines(std::int64_t elements) {
  return (elements + 15) / 16 * 16;
}

template <class T>
T* data(const torch::Tensor& tensor) {
  return tensor.data_ptr<T>();
}

/// Calls `work` for parts of 0..count, in parallel.
template <class Work>
void in_parallel(std::int64_t count, const Work& work) {
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    work(kernels::Range{begin, end});
  });
}

/// The factors with which the kernels turn a raw output into the next layer's input.
template <class T>
struct LayerTransform {
  torch::Tensor scale, shift;  // [C]
  torch::Tensor keep;          // [N,C]
  T slope;

  [[nodiscard]] kernels::ChannelTransform<T> of(std::int64_t image) const {
    return {data<T>(scale), data<T>(shift), data<T>(keep) + image * keep.size(1), slope};
  }
};

/// One layer's part of a forward pass, and of what its backward pass needs.
template <class T>
struct Step {
  kernels::ConvolutionShape shape;
  torch::Tensor output;           // [N,h,w,C], raw
  torch::Tensor mean, deviation;  // f64 [C]: deviation is 1 / sqrt(variance + epsilon)
  LayerTransform<T> transform;    // of the output; unused for the last layer
};
/// Adds up `parts` partial sums of `count`, in order.
inline std::vector<double> add_parts(const std::vector<double>& partial, std::int64_t parts,
                                     std::int64_t count) {
  std::vector<double> sum(static_cast<std::size_t>(count), 0.0);
  for (std::int64_t part = 0; part < parts; ++part) {
    for (std::int64_t i = 0; i < count; ++i) sum[i] += partial[part * count + i];
  }
  return sum;
}

/// The padded input of output rows [first, last) of one image of a layer.
template <class T>
void pad_input(const kernels::ConvolutionKernels<T>& kernels,
               const kernels::ConvolutionShape& shape, const torch::Tensor& images,
               const Step<T>* before, std::int64_t image, std::int64_t first, std::int64_t last,
               T* buffer) {
  const std::int64_t size = shape.height * shape.width * shape.in_channels;
  if (before != nullptr) {
    kernels.pad_pixels(shape, data<T>(before->output) + image * size, before->transform.of(image),
                       first, last, buffer);
    return;
  }
  const T* const from = data<T>(images) + image * size;
  if (images.is_contiguous()) {
    kernels.pad_planes(shape, from, first, last, buffer);
  } else {
    kernels.copy_pixels(shape, from, first, last, buffer);
  }
}

}  // namespace seam::nn
