/// Convolution kernels over one image, for the capsule models' feature extractor.
///
///     raw output of the layer before            gradient of this layer's output
///        | normalise, activate, drop, pad          |  (through dropout, activation, normalisation)
///        v                                         v
///     Input buffer [group][row][column][c]      Gradient buffer [panel][row][column][c]
///        |                                         |            |
///        +--> forward -> output [row][column][c]   +-> input_gradient
///        +--------------------------------------------> weight_gradient
///
/// Nothing is unfolded: a row of the padded input buffer is read with the strides of the matrix
/// that the product needs. Activations are not kept between the passes; they are computed again
/// from the raw output while the padded copy is made, which the product needs anyway. No function
/// here allocates, starts a thread or depends on LibTorch; all memory is the caller's.
#pragma once

#include <cstdint>

#include "stages/cpu/instruction_set.hpp"

namespace seam::nn::kernels {

using stages::best_instruction_set;
using stages::InstructionSet;

/// Sizes of a convolution with TensorFlow's "SAME" padding: ceil(size / stride) outputs, the
/// padding split evenly with the odd one after.
struct ConvolutionShape {
  std::int64_t height = 0, width = 0, in_channels = 0, out_channels = 0, kernel = 1, stride = 1;

  // Derived by make_convolution_shape.
  std::int64_t out_height = 0, out_width = 0;
  std::int64_t pad_top = 0, pad_left = 0;            ///< zeros before the image
  std::int64_t padded_height = 0, padded_width = 0;  ///< what the kernel windows cover
  std::int64_t group = 0, groups = 0;  ///< channels together in the input buffer, and how many such
  std::int64_t border = 0;             ///< zeros around the gradient buffer, before
  std::int64_t gradient_height = 0, gradient_width = 0;  ///< with the zeros before and after
};

[[nodiscard]] ConvolutionShape make_convolution_shape(std::int64_t height, std::int64_t width,
                                                      std::int64_t in_channels,
                                                      std::int64_t out_channels,
                                                      std::int64_t kernel, std::int64_t stride);

/// Zeros before an axis of `size` under "SAME" padding.
[[nodiscard]] std::int64_t same_padding_before(std::int64_t size, std::int64_t kernel,
                                               std::int64_t stride);
/// All zeros of an axis of `size` under "SAME" padding.
[[nodiscard]] std::int64_t same_padding_total(std::int64_t size, std::int64_t kernel,
                                              std::int64_t stride);

/// The transformation of a raw value y of channel c: y * scale[c] + shift[c], then a slope below
/// zero, then times keep[c] (spatial dropout of this image).
template <class T>
struct ChannelTransform {
  const T* scale;
  const T* shift;
  const T* keep;
  T slope;
};

/// How the gradient g of a block's output becomes that of the convolution's output y:
/// scale[c] * dz + slope_of_output[c] * y + offset[c], with dz = g * keep[c] * (activation's
/// slope).
template <class T>
struct GradientTransform {
  const T* scale;
  const T* slope_of_output;
  const T* offset;
};

/// Begin and end of a part.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

template <class T>
struct ConvolutionKernels {
  std::int64_t panel;  ///< output channels of one packed panel; buffers of channels round up to it

  /// Elements of the buffers.
  std::int64_t (*packed_size)(const ConvolutionShape&);
  std::int64_t (*packed_transposed_size)(const ConvolutionShape&);
  std::int64_t (*input_size)(const ConvolutionShape&, std::int64_t out_rows);
  std::int64_t (*gradient_size)(const ConvolutionShape&);

  /// Numbers of parts into which a pass over the weights can be divided: panels of output channels,
  /// rows of packed weights, blocks of transposed ones. If images are small, several of them use
  /// one part in turn while it is in the cache.
  std::int64_t (*panels)(const ConvolutionShape&);
  std::int64_t (*weight_rows)(const ConvolutionShape&);
  std::int64_t (*transposed_blocks)(const ConvolutionShape&);

  /// weight [out][in][kernel][kernel] to the order in which the products read it, and back: some
  /// panels, or some blocks.
  void (*pack)(const ConvolutionShape&, Range panels, const T* weight, T* packed);
  void (*pack_transposed)(const ConvolutionShape&, Range blocks, const T* weight, T* packed);
  void (*unpack)(const ConvolutionShape&, Range panels, const T* packed, T* weight);

  /// Fills the input buffer for output rows [first, last) from [channels][height][width].
  void (*pad_planes)(const ConvolutionShape&, const T* image, std::int64_t first, std::int64_t last,
                     T* buffer);
  /// The same from [height][width][channels].
  void (*copy_pixels)(const ConvolutionShape&, const T* image, std::int64_t first,
                      std::int64_t last, T* buffer);
  /// The same, each value transformed.
  void (*pad_pixels)(const ConvolutionShape&, const T* image, const ChannelTransform<T>&,
                     std::int64_t first, std::int64_t last, T* buffer);

  /// Output rows [first, last) of some panels into output [out_height][out_width][out_channels];
  /// bias is padded to the panel.
  void (*forward)(const ConvolutionShape&, Range panels, const T* buffer, const T* packed,
                  const T* bias, std::int64_t first, std::int64_t last, T* output);
  /// Adds to sums [2][channels] the sums of values and of squares over `pixels` pixels.
  void (*output_sums)(std::int64_t pixels, std::int64_t channels, const T* output, double* sums);

  /// Adds to sums [2][channels] the sums of dz and of dz * y over `pixels` pixels.
  void (*gradient_sums)(std::int64_t pixels, std::int64_t channels, const T* y, const T* gradient,
                        const ChannelTransform<T>&, double* sums);
  /// Fills the gradient buffer of an image. With a null transform the gradient is copied.
  void (*pad_gradient)(const ConvolutionShape&, const T* y, const T* gradient,
                       const ChannelTransform<T>*, const GradientTransform<T>*, T* buffer);
  /// Adds the sums over the pixels of the gradient buffer to sums [out_channels].
  void (*bias_gradient)(const ConvolutionShape&, const T* gradient_buffer, double* sums);

  /// Adds to `packed` the contribution of output rows [first, last) to the gradient of some weight
  /// rows.
  void (*weight_gradient)(const ConvolutionShape&, Range weight_rows, const T* buffer,
                          const T* gradient_buffer, std::int64_t first, std::int64_t last,
                          T* packed);
  /// Writes the part of some blocks of the input's gradient [height][width][in_channels]; all
  /// blocks together write every element once.
  void (*input_gradient)(const ConvolutionShape&, Range blocks, const T* gradient_buffer,
                         const T* packed_transposed, T* input_gradient);
};

/// The kernels compiled for `set`; T is float or double.
template <class T>
[[nodiscard]] const ConvolutionKernels<T>& convolution_kernels(
    InstructionSet set = best_instruction_set());

}  // namespace seam::nn::kernels
