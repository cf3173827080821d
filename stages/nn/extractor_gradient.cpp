#include "stages/nn/extractor_gradient.hpp"

#include <algorithm>

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "stages/cpu/grain.hpp"

namespace seam::nn {
namespace {

using kernels::ConvolutionShape;
using torch::Tensor;
using torch::autograd::variable_list;

/// Parts that the images of a batch are divided into for the sums of a backward pass.
constexpr std::int64_t most_gradient_parts = 16;

/// One backward pass.
template <class T>
class Backward {
 public:
  Backward(const std::vector<PassLayer>& layers, const Tensor& images,
           const std::vector<Step<T>>& steps)
      : layers_(layers), images_(images), steps_(steps) {}

  variable_list run(const Tensor& output_gradient) {
    std::vector<variable_list> of_layers(layers_.size());
    Tensor gradient = output_gradient;  // [N,h,w,C] of the layer's output, after its dropout
    std::vector<double> sums;           // of gradient_sums, of the layer's output
    for (std::int64_t l = static_cast<std::int64_t>(layers_.size()) - 1; l >= 0; --l) {
      of_layers[l] = layer(l, gradient, sums);
    }
    variable_list all;
    for (const variable_list& of_layer : of_layers) {
      all.insert(all.end(), of_layer.begin(), of_layer.end());
    }
    return all;
  }

 private:
  /// The data of one layer's backward pass.
  struct Work {
    const Step<T>& step;
    const Step<T>* before;           // null at the first layer
    Tensor gradient;                 // [N,h,w,C] of the output
    Tensor factors;                  // [3][C] of GradientTransform; undefined at the last layer
    Tensor transposed;               // packed weights; undefined at the first layer, like the next
    Tensor input_gradient;           // [N,h,w,C] of the input
    std::vector<double> input_sums;  // [N][2][C] of gradient_sums, of the input
    std::vector<double> bias;        // [N][C], at the last layer
  };

  /// Replaces `gradient` and `sums` by those of the layer before.
  variable_list layer(std::int64_t l, Tensor& gradient, std::vector<double>& sums) {
    const auto& kernels = kernels::convolution_kernels<T>();
    const ConvolutionShape& shape = steps_[l].shape;
    const bool last = l + 1 == static_cast<std::int64_t>(layers_.size());
    const std::int64_t batch = images_.size(0);

    variable_list result(last ? 2 : 4);
    Work work{steps_[l], l > 0 ? &steps_[l - 1] : nullptr, gradient, {}, {}, {}, {}, {}};
    if (last) {
      work.bias.assign(static_cast<std::size_t>(batch * shape.out_channels), 0.0);
    } else {
      work.factors = normalisation_gradient(l, sums, result[2], result[3]);
    }
    if (work.before != nullptr) {
      work.input_gradient =
          torch::empty({batch, shape.height, shape.width, shape.in_channels}, options());
      work.transposed = torch::empty({kernels.packed_transposed_size(shape)}, options());
      in_parallel(kernels.transposed_blocks(shape), [&](kernels::Range blocks) {
        kernels.pack_transposed(shape, blocks, data<T>(layers_[l].weight),
                                data<T>(work.transposed));
      });
      work.input_sums.assign(static_cast<std::size_t>(batch * 2 * shape.in_channels), 0.0);
    }

    // Whichever needs less memory: padded copies of all images, or sums of the weights' gradients
    // over parts of the images. Small images have few pixels for many weights.
    const std::int64_t copies =
        batch * (kernels.input_size(shape, shape.out_height) + kernels.gradient_size(shape));
    const std::int64_t parts = std::min(batch, most_gradient_parts) * kernels.packed_size(shape);
    const Tensor packed = copies <= parts ? by_weights(work) : by_images(work);

    result[0] = torch::empty_like(layers_[l].weight, torch::MemoryFormat::Contiguous);
    in_parallel(kernels.panels(shape), [&](kernels::Range panels) {
      kernels.unpack(shape, panels, data<T>(packed), data<T>(result[0]));
    });
    result[1] = torch::zeros_like(layers_[l].bias);
    if (last) {
      const std::vector<double> bias = add_parts(work.bias, batch, shape.out_channels);
      for (std::int64_t c = 0; c < shape.out_channels; ++c) {
        data<T>(result[1])[c] = static_cast<T>(bias[c]);
      }
    }  // else: normalisation subtracts the mean, and with it the bias, whose gradient is zero
    if (work.before != nullptr) sums = add_parts(work.input_sums, batch, 2 * shape.in_channels);
    gradient = work.input_gradient;
    return result;
  }

  [[nodiscard]] torch::TensorOptions options() const {
    return images_.options().memory_format(torch::MemoryFormat::Contiguous);
  }

  /// Fills the gradient buffer of an image, and adds up the bias' gradient.
  static void pad_gradient(Work& work, std::int64_t image, T* padded) {
    const auto& kernels = kernels::convolution_kernels<T>();
    const ConvolutionShape& shape = work.step.shape;
    const std::int64_t channels = shape.out_channels;
    const std::int64_t at = image * shape.out_height * shape.out_width * channels;
    if (!work.factors.defined()) {
      kernels.pad_gradient(shape, nullptr, data<T>(work.gradient) + at, nullptr, nullptr, padded);
      kernels.bias_gradient(shape, padded, work.bias.data() + image * channels);
      return;
    }
    const kernels::ChannelTransform<T> transform = work.step.transform.of(image);
    const T* const factor = data<T>(work.factors);
    const kernels::GradientTransform<T> through{factor, factor + channels, factor + 2 * channels};
    kernels.pad_gradient(shape, data<T>(work.step.output) + at, data<T>(work.gradient) + at,
                         &transform, &through, padded);
  }

  /// The gradient of the input of `count` images from `image` on, whose gradient buffers lie
  /// `padded_size` apart.
  static void pass_on(Work& work, std::int64_t image, std::int64_t count, const T* padded,
                      std::int64_t padded_size) {
    if (work.before == nullptr) return;
    const auto& kernels = kernels::convolution_kernels<T>();
    const ConvolutionShape& shape = work.step.shape;
    const std::int64_t input_size = shape.height * shape.width * shape.in_channels;
    T* const to = data<T>(work.input_gradient) + image * input_size;
    const std::int64_t blocks = kernels.transposed_blocks(shape);
    const std::int64_t turn = count > 1 ? 1 : blocks;
    for (std::int64_t block = 0; block < blocks; block += turn) {
      for (std::int64_t i = 0; i < count; ++i) {
        kernels.input_gradient(shape, {block, block + turn}, padded + i * padded_size,
                               data<T>(work.transposed), to + i * input_size);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      kernels.gradient_sums(shape.height * shape.width, shape.in_channels,
                            data<T>(work.before->output) + (image + i) * input_size,
                            to + i * input_size, work.before->transform.of(image + i),
                            work.input_sums.data() + (image + i) * 2 * shape.in_channels);
    }
  }

  /// Each task has some images and its own sums; returns the packed gradient of the weights.
  Tensor by_images(Work& work) const {
    const auto& kernels = kernels::convolution_kernels<T>();
    const ConvolutionShape& shape = work.step.shape;
    const std::int64_t batch = images_.size(0);
    const std::int64_t parts = std::min(batch, most_gradient_parts);
    const std::int64_t packed_size = kernels.packed_size(shape);
    const std::int64_t padded_size = whole_lines(kernels.gradient_size(shape));
    const std::int64_t buffer_size = whole_lines(kernels.input_size(shape, rows_of_a_task));
    const Tensor sums = torch::empty({parts, packed_size}, options());
    const Tensor scratch =
        torch::empty({at::get_num_threads(), buffer_size + padded_size}, options());
    at::parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
      T* const buffer = data<T>(scratch) + at::get_thread_num() * scratch.size(1);
      T* const padded = buffer + buffer_size;
      for (std::int64_t part = begin; part < end; ++part) {
        T* const packed = data<T>(sums) + part * packed_size;
        std::fill_n(packed, packed_size, T(0));
        for (std::int64_t image = part * batch / parts; image < (part + 1) * batch / parts;
             ++image) {
          pad_gradient(work, image, padded);
          for (std::int64_t first = 0; first < shape.out_height; first += rows_of_a_task) {
            const std::int64_t last = std::min(first + rows_of_a_task, shape.out_height);
            pad_input(kernels, shape, images_, work.before, image, first, last, buffer);
            kernels.weight_gradient(shape, {0, kernels.weight_rows(shape)}, buffer, padded, first,
                                    last, packed);
          }
          pass_on(work, image, 1, padded, padded_size);
        }
      }
    });
    T* const sum = data<T>(sums);  // the other parts are added to the first
    at::parallel_for(0, packed_size, stages::grain(16384),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t part = 1; part < parts; ++part) {
                         const T* const term = sum + part * packed_size;
                         for (std::int64_t i = begin; i < end; ++i) sum[i] += term[i];
                       }
                     });
    return sums[0];
  }

  /// All images are padded first; then each task has some rows of weights, and goes through all
  /// images. Returns the packed gradient of the weights.
  Tensor by_weights(Work& work) const {
    const auto& kernels = kernels::convolution_kernels<T>();
    const ConvolutionShape& shape = work.step.shape;
    const std::int64_t batch = images_.size(0);
    const std::int64_t together = images_of_a_task(shape);
    const std::int64_t padded_size = whole_lines(kernels.gradient_size(shape));
    const std::int64_t buffer_size = whole_lines(kernels.input_size(shape, shape.out_height));
    const Tensor buffers = torch::empty({batch, buffer_size}, options());
    const Tensor all_padded = torch::empty({batch, padded_size}, options());
    const std::int64_t tasks = (batch + together - 1) / together;
    at::parallel_for(0, tasks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task * together;
        const std::int64_t count = std::min(together, batch - first);
        T* const padded = data<T>(all_padded) + first * padded_size;
        for (std::int64_t i = 0; i < count; ++i) {
          pad_gradient(work, first + i, padded + i * padded_size);
          pad_input(kernels, shape, images_, work.before, first + i, 0, shape.out_height,
                    data<T>(buffers) + (first + i) * buffer_size);
        }
        pass_on(work, first, count, padded, padded_size);
      }
    });
    Tensor packed = torch::empty({kernels.packed_size(shape)}, options());
    const std::int64_t rows = kernels.weight_rows(shape);
    const std::int64_t row_size = packed.size(0) / rows;  // divides evenly
    at::parallel_for(0, rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::fill_n(data<T>(packed) + row * row_size, row_size, T(0));
        for (std::int64_t image = 0; image < batch; ++image) {
          kernels.weight_gradient(shape, {row, row + 1}, data<T>(buffers) + image * buffer_size,
                                  data<T>(all_padded) + image * padded_size, 0, shape.out_height,
                                  data<T>(packed));
        }
      }
    });
    return packed;
  }

  /// Through batch normalisation: with x = (y - mean) * deviation and M values per channel, dy =
  /// gamma * deviation * (dz - sum(dz) / M - x * sum(dz * x) / M).
  Tensor normalisation_gradient(std::int64_t l, const std::vector<double>& sums,
                                Tensor& scale_gradient, Tensor& shift_gradient) const {
    const Step<T>& step = steps_[l];
    const std::int64_t channels = step.shape.out_channels;
    const std::int64_t values = step.output.numel() / channels;  // divides evenly
    const auto count = static_cast<double>(values);
    scale_gradient = torch::empty_like(layers_[l].scale);
    shift_gradient = torch::empty_like(layers_[l].shift);
    Tensor factors = torch::empty({3, channels}, step.output.options());
    T* const factor = data<T>(factors);
    for (std::int64_t c = 0; c < channels; ++c) {
      const double mean = data<double>(step.mean)[c];
      const double deviation = data<double>(step.deviation)[c];
      const double sum = sums[c];
      const double sum_x = deviation * (sums[channels + c] - mean * sum);
      const double gain = static_cast<double>(data<T>(layers_[l].scale)[c]) * deviation;
      data<T>(scale_gradient)[c] = static_cast<T>(sum_x);
      data<T>(shift_gradient)[c] = static_cast<T>(sum);
      const double slope = -gain * deviation * sum_x / count;
      factor[c] = static_cast<T>(gain);
      factor[channels + c] = static_cast<T>(slope);
      factor[2 * channels + c] = static_cast<T>(-gain * sum / count - slope * mean);
    }
    return factors;
  }

  const std::vector<PassLayer>& layers_;
  Tensor images_;
  const std::vector<Step<T>>& steps_;
};

}  // namespace

template <class T>
std::vector<Tensor> extractor_gradients(const std::vector<PassLayer>& layers, const Tensor& images,
                                        const std::vector<Step<T>>& steps,
                                        const Tensor& output_gradient) {
  return Backward<T>(layers, images, steps).run(output_gradient);
}

template std::vector<Tensor> extractor_gradients(const std::vector<PassLayer>&, const Tensor&,
                                                 const std::vector<Step<float>>&, const Tensor&);
template std::vector<Tensor> extractor_gradients(const std::vector<PassLayer>&, const Tensor&,
                                                 const std::vector<Step<double>>&, const Tensor&);

}  // namespace seam::nn
