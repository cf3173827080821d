#include "stages/nn/kernels/convolution.hpp"

#include <algorithm>

namespace seam::nn::kernels {
namespace {

std::int64_t output_size(std::int64_t size, std::int64_t stride) {
  return (size + stride - 1) / stride;
}

/// Outputs, and how far the positions of the input's pixels reach past them.
std::int64_t gradient_length(std::int64_t size, std::int64_t before, std::int64_t stride,
                             std::int64_t outputs, std::int64_t border) {
  return border + std::max(outputs, (size - 1 + before) / stride + 1);
}

}  // namespace

std::int64_t same_padding_total(std::int64_t size, std::int64_t kernel, std::int64_t stride) {
  return std::max<std::int64_t>((output_size(size, stride) - 1) * stride + kernel - size, 0);
}

std::int64_t same_padding_before(std::int64_t size, std::int64_t kernel, std::int64_t stride) {
  return same_padding_total(size, kernel, stride) / 2;
}

ConvolutionShape make_convolution_shape(std::int64_t height, std::int64_t width,
                                        std::int64_t in_channels, std::int64_t out_channels,
                                        std::int64_t kernel, std::int64_t stride) {
  ConvolutionShape shape;
  shape.height = height;
  shape.width = width;
  shape.in_channels = in_channels;
  shape.out_channels = out_channels;
  shape.kernel = kernel;
  shape.stride = stride;
  shape.out_height = output_size(height, stride);
  shape.out_width = output_size(width, stride);
  shape.pad_top = same_padding_before(height, kernel, stride);
  shape.pad_left = same_padding_before(width, kernel, stride);
  shape.padded_height = (shape.out_height - 1) * stride + kernel;
  shape.padded_width = (shape.out_width - 1) * stride + kernel;
  // 16 floats are one cache line: pixels of a group are close together whatever the channel count.
  shape.group = in_channels % 16 == 0 ? 16 : in_channels;
  shape.groups = in_channels / shape.group;
  shape.border = (kernel + stride - 1) / stride - 1;
  shape.gradient_height =
      gradient_length(height, shape.pad_top, stride, shape.out_height, shape.border);
  shape.gradient_width =
      gradient_length(width, shape.pad_left, stride, shape.out_width, shape.border);
  return shape;
}

}  // namespace seam::nn::kernels
