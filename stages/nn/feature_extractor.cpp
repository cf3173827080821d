#include "stages/nn/feature_extractor.hpp"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include <seam/error.hpp>
#include <seam/random.hpp>

#include "stages/nn/kernels/convolution.hpp"

namespace seam::stages {
namespace {

using kernels::ConvolutionShape;
using torch::Tensor;
using torch::autograd::variable_list;

/// Output rows that one task of a forward pass makes: their input window fits the second-level
/// cache.
constexpr std::int64_t rows_of_a_task = 8;
/// Parts that the images of a batch are divided into for the sums of a backward pass.
constexpr std::int64_t most_parts = 16;
/// Pixels, and images at most, that an evaluation takes through all layers at a time, so that
/// memory does not grow with the batch.
constexpr std::int64_t pixels_of_an_evaluation = std::int64_t{8} * 256 * 256;
constexpr std::int64_t most_of_an_evaluation = 64;

/// Images whose outputs are made together: small ones take turns at a part of the weights while it
/// lies in the cache. By the shape alone, so that the results are the same on any machine.
std::int64_t images_of_a_task(const ConvolutionShape& shape) {
  constexpr std::int64_t pixels_of_a_task = 64;
  return std::clamp<std::int64_t>(pixels_of_a_task / (shape.out_height * shape.out_width), 1, 4);
}

std::int64_t whole_lines(std::int64_t elements) {
  return (elements + 15) / 16 * 16;
}

template <class T>
T* data(const Tensor& tensor) {
  return tensor.data_ptr<T>();
}

/// Calls `work` for parts of 0..count, side by side.
template <class Work>
void in_parallel(std::int64_t count, const Work& work) {
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    work(kernels::Range{begin, end});
  });
}

/// What the kernels need to turn a raw output into the next layer's input.
template <class T>
struct LayerTransform {
  Tensor scale, shift;  // [C]
  Tensor keep;          // [N,C]
  T slope;

  [[nodiscard]] kernels::ChannelTransform<T> of(std::int64_t image) const {
    return {data<T>(scale), data<T>(shift), data<T>(keep) + image * keep.size(1), slope};
  }
};

/// One layer's part of a forward pass, and of what its backward pass needs.
template <class T>
struct Step {
  ConvolutionShape shape;
  Tensor output;                // [N,h,w,C], raw
  Tensor mean, deviation;       // f64 [C]: deviation is 1 / sqrt(variance + epsilon)
  LayerTransform<T> transform;  // of the output; unused for the last layer
};

/// Adds up `parts` partial sums of `count`, in order.
std::vector<double> add_parts(const std::vector<double>& partial, std::int64_t parts,
                              std::int64_t count) {
  std::vector<double> sum(static_cast<std::size_t>(count), 0.0);
  for (std::int64_t part = 0; part < parts; ++part) {
    for (std::int64_t i = 0; i < count; ++i) sum[i] += partial[part * count + i];
  }
  return sum;
}

Tensor padded_bias(const Tensor& bias, std::int64_t panel) {
  const std::int64_t padded = (bias.size(0) + panel - 1) / panel * panel;
  Tensor result = torch::zeros({padded}, bias.options());
  result.narrow(0, 0, bias.size(0)).copy_(bias);
  return result;
}

bool pixels_together(const Tensor& images) {
  return images.is_contiguous(torch::MemoryFormat::ChannelsLast);
}

/// As the kernels read them: plane by plane, or pixel by pixel where they come so.
Tensor readable(const Tensor& images) {
  return pixels_together(images) ? images : images.contiguous();
}

/// The padded input of output rows [first, last) of one image of a layer.
template <class T>
void pad_input(const kernels::ConvolutionKernels<T>& kernels, const ConvolutionShape& shape,
               const Tensor& images, const Step<T>* before, std::int64_t image, std::int64_t first,
               std::int64_t last, T* buffer) {
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

/// Fills step.output; returns the sums of values and squares [2][C] where wanted.
template <class T>
std::vector<double> convolve(const FeatureExtractor::Layer& layer, const Tensor& images,
                             const Step<T>* before, Step<T>& step, bool want_sums) {
  const auto& kernels = kernels::convolution_kernels<T>();
  const ConvolutionShape& shape = step.shape;
  const std::int64_t batch = images.size(0);
  const std::int64_t channels = shape.out_channels;
  const std::int64_t blocks = (shape.out_height + rows_of_a_task - 1) / rows_of_a_task;
  const std::int64_t together = images_of_a_task(shape);
  const std::int64_t tasks = (batch + together - 1) / together * blocks;
  const std::int64_t output_size = shape.out_height * shape.out_width * channels;
  const std::int64_t buffer_size = whole_lines(kernels.input_size(shape, rows_of_a_task));
  step.output = torch::empty({batch, shape.out_height, shape.out_width, channels},
                             images.options().memory_format(torch::MemoryFormat::Contiguous));
  const Tensor packed = torch::empty({kernels.packed_size(shape)}, images.options());
  in_parallel(kernels.panels(shape), [&](kernels::Range panels) {
    kernels.pack(shape, panels, data<T>(layer.weight), data<T>(packed));
  });
  const Tensor bias = padded_bias(layer.bias.detach(), kernels.panel);
  const Tensor scratch =
      torch::empty({at::get_num_threads(), together * buffer_size}, images.options());
  std::vector<double> partial(want_sums ? static_cast<std::size_t>(tasks * 2 * channels) : 0, 0.0);
  at::parallel_for(0, tasks, 1, [&](std::int64_t begin, std::int64_t end) {
    T* const buffers = data<T>(scratch) + at::get_thread_num() * scratch.size(1);
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t image = task / blocks * together;
      const std::int64_t images_here = std::min(together, batch - image);
      const std::int64_t first = task % blocks * rows_of_a_task;
      const std::int64_t last = std::min(first + rows_of_a_task, shape.out_height);
      T* const output = data<T>(step.output) + image * output_size;
      for (std::int64_t i = 0; i < images_here; ++i) {
        pad_input(kernels, shape, images, before, image + i, first, last,
                  buffers + i * buffer_size);
      }
      for (std::int64_t panel = 0; panel < kernels.panels(shape); ++panel) {
        for (std::int64_t i = 0; i < images_here; ++i) {
          kernels.forward(shape, {panel, panel + 1}, buffers + i * buffer_size, data<T>(packed),
                          data<T>(bias), first, last, output + i * output_size);
        }
      }
      if (!want_sums) continue;
      for (std::int64_t i = 0; i < images_here; ++i) {
        kernels.output_sums((last - first) * shape.out_width, channels,
                            output + i * output_size + first * shape.out_width * channels,
                            partial.data() + task * 2 * channels);
      }
    }
  });
  return want_sums ? add_parts(partial, tasks, 2 * channels) : std::vector<double>();
}

template <class T>
T slope_of(const FeatureExtractorOptions& options) {
  return options.activation == Activation::relu ? T(0) : static_cast<T>(options.slope);
}

/// Turns mean and variance into the factors that normalise.
template <class T>
void set_transform(const FeatureExtractor::Layer& layer, const FeatureExtractorOptions& options,
                   const Tensor& variance, Tensor keep, Step<T>& step) {
  step.deviation = torch::rsqrt(variance + options.norm_epsilon);
  const Tensor scale = layer.scale.detach().to(torch::kFloat64) * step.deviation;
  step.transform = {scale.to(options.type),
                    (layer.shift.detach().to(torch::kFloat64) - step.mean * scale).to(options.type),
                    std::move(keep), slope_of<T>(options)};
}

/// The statistics of a batch from its sums; updates the running ones.
template <class T>
void normalise(FeatureExtractor::Layer& layer, const FeatureExtractorOptions& options,
               const std::vector<double>& sums, Tensor keep, Step<T>& step) {
  const std::int64_t channels = step.shape.out_channels;
  const std::int64_t values = step.output.numel() / channels;  // divides evenly
  const auto count = static_cast<double>(values);
  step.mean = torch::empty({channels}, torch::kFloat64);
  Tensor variance = torch::empty({channels}, torch::kFloat64);
  for (std::int64_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / count;
    data<double>(step.mean)[c] = mean;
    data<double>(variance)[c] = std::max(sums[channels + c] / count - mean * mean, 0.0);
  }
  const double momentum = options.norm_momentum;
  const double unbiased = count > 1 ? count / (count - 1) : 1.0;
  const torch::NoGradGuard no_gradient;
  layer.running_mean.copy_(layer.running_mean.to(torch::kFloat64) * (1 - momentum) +
                           step.mean * momentum);
  layer.running_variance.copy_(layer.running_variance.to(torch::kFloat64) * (1 - momentum) +
                               variance * (unbiased * momentum));
  set_transform(layer, options, variance, std::move(keep), step);
}

ConvolutionShape shape_after(const FeatureExtractor::Layer& layer, std::int64_t height,
                             std::int64_t width) {
  return kernels::make_convolution_shape(height, width, layer.weight.size(1), layer.weight.size(0),
                                         layer.kernel, layer.stride);
}

/// The gradients of one pass's weights, in the order of FeatureExtractor::weights().
template <class T>
class Backward {
 public:
  Backward(const std::vector<FeatureExtractor::Layer>& layers, const Tensor& images,
           const std::vector<Step<T>>& steps)
      : layers_(layers), images_(images), steps_(steps) {}

  variable_list run(const Tensor& output_gradient) {
    std::vector<variable_list> of_layers(layers_.size());
    Tensor gradient = output_gradient;  // [N,h,w,C] of the layer's output, behind its dropout
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
  /// What the backward pass of one layer works on.
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

    // Whichever takes less memory: padded copies of all images, or sums of the weights' gradients
    // over parts of the images. Small pictures have few pixels for many weights.
    const std::int64_t copies =
        batch * (kernels.input_size(shape, shape.out_height) + kernels.gradient_size(shape));
    const std::int64_t parts = std::min(batch, most_parts) * kernels.packed_size(shape);
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
    }  // else: normalisation takes the mean away, and with it the bias; its gradient is zero
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

  /// Each task has some images, and sums of its own; returns the packed gradient of the weights.
  Tensor by_images(Work& work) const {
    const auto& kernels = kernels::convolution_kernels<T>();
    const ConvolutionShape& shape = work.step.shape;
    const std::int64_t batch = images_.size(0);
    const std::int64_t parts = std::min(batch, most_parts);
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
    T* const sum = data<T>(sums);  // the first part takes the others up
    at::parallel_for(0, packed_size, 16384, [&](std::int64_t begin, std::int64_t end) {
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

  /// Through batch normalisation: with x = (y - mean) * deviation and M values a channel,
  /// dy = gamma * deviation * (dz - sum(dz) / M - x * sum(dz * x) / M).
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

  const std::vector<FeatureExtractor::Layer>& layers_;
  Tensor images_;
  const std::vector<Step<T>>& steps_;
};

/// What a forward pass leaves for its backward pass.
template <class T>
struct Kept : torch::CustomClassHolder {
  std::vector<FeatureExtractor::Layer> layers;  // handles of leaf tensors
  std::vector<std::uint32_t> versions;          // of their weights
  Tensor images;
  std::vector<Step<T>> steps;
};

Tensor as_planes(const Tensor& pixels) {
  return pixels.permute({0, 3, 1, 2});
}

/// The extractor's place in the autograd graph: the pass has been computed, its gradients are to
/// come.
template <class T>
struct ExtractorFunction : torch::autograd::Function<ExtractorFunction<T>> {
  static Tensor forward(torch::autograd::AutogradContext* context,
                        const c10::intrusive_ptr<Kept<T>>& kept, at::TensorList /*weights*/) {
    context->saved_data["kept"] = torch::IValue::make_capsule(kept);
    return as_planes(kept->steps.back().output);
  }
  static variable_list backward(torch::autograd::AutogradContext* context,
                                const variable_list& gradients) {
    const auto capsule = context->saved_data["kept"].toCapsule();
    auto& kept = static_cast<Kept<T>&>(*capsule);
    if (kept.steps.empty()) {
      throw Error("the feature extractor's backward pass ran twice for one forward pass",
                  Fault::internal);
    }
    for (std::size_t l = 0; l < kept.layers.size(); ++l) {
      if (static_cast<std::uint32_t>(kept.layers[l].weight._version()) != kept.versions[l]) {
        throw Error(
            "a weight of the feature extractor changed between its forward and backward pass",
            Fault::internal);
      }
    }
    variable_list result = Backward<T>(kept.layers, kept.images, kept.steps)
                               .run(gradients[0].permute({0, 2, 3, 1}).contiguous());
    // The graph may live on; what was kept need not.
    kept.steps.clear();
    kept.images = Tensor();
    result.insert(result.begin(), Tensor());  // the first argument's
    return result;
  }
};

template <class T>
Tensor train_with_kernels(std::vector<FeatureExtractor::Layer>& layers,
                          const FeatureExtractorOptions& options, const Tensor& given,
                          const DropoutKey& key, const variable_list& weights) {
  Tensor images;
  std::vector<Step<T>> steps(layers.size());
  {
    const torch::NoGradGuard no_gradient;
    images = readable(given.detach());
    std::int64_t height = images.size(2);
    std::int64_t width = images.size(3);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const bool last = l + 1 == layers.size();
      steps[l].shape = shape_after(layers[l], height, width);
      const std::vector<double> sums =
          convolve(layers[l], images, l > 0 ? &steps[l - 1] : nullptr, steps[l], !last);
      if (!last) {
        normalise(layers[l], options, sums,
                  spatial_dropout(images.size(0), steps[l].shape.out_channels, options.dropout, key,
                                  static_cast<std::int64_t>(l), options.type),
                  steps[l]);
      }
      height = steps[l].shape.out_height;
      width = steps[l].shape.out_width;
    }
  }
  if (!torch::GradMode::is_enabled()) return as_planes(steps.back().output);
  auto kept = c10::make_intrusive<Kept<T>>();
  kept->layers = layers;
  for (const FeatureExtractor::Layer& layer : layers) {
    kept->versions.push_back(static_cast<std::uint32_t>(layer.weight._version()));
  }
  kept->images = std::move(images);
  kept->steps = std::move(steps);
  return ExtractorFunction<T>::apply(kept, at::TensorList(weights));
}

template <class T>
Tensor evaluate_with_kernels(const std::vector<FeatureExtractor::Layer>& layers,
                             const FeatureExtractorOptions& options, const Tensor& images) {
  std::int64_t height = images.size(2);
  std::int64_t width = images.size(3);
  Step<T> before;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    Step<T> step;
    step.shape = shape_after(layers[l], height, width);
    convolve(layers[l], images, l > 0 ? &before : nullptr, step, false);
    if (l + 1 < layers.size()) {
      step.mean = layers[l].running_mean.to(torch::kFloat64);
      set_transform(layers[l], options, layers[l].running_variance.to(torch::kFloat64),
                    torch::ones({images.size(0), step.shape.out_channels}, images.options()), step);
    }
    height = step.shape.out_height;
    width = step.shape.out_width;
    before = std::move(step);
  }
  return before.output;
}

std::string numbered(const char* part, std::size_t layer, const char* what) {
  return part + std::to_string(layer + 1) + "." + what;
}

}  // namespace

Tensor spatial_dropout(std::int64_t images, std::int64_t channels, double rate,
                       const DropoutKey& key, std::int64_t layer, torch::ScalarType type) {
  Tensor factors = torch::ones({images, channels}, type);
  if (rate <= 0) return factors;
  // 2^64 / golden ratio: layers' streams lie far apart.
  Random random(key.seed, key.stream + 0x9E3779B97F4A7C15U * static_cast<std::uint64_t>(layer + 1),
                key.epoch, key.sequence);
  Tensor wide = torch::empty({images, channels}, torch::kFloat64);
  double* const values = wide.data_ptr<double>();
  const double kept = 1 / (1 - rate);
  for (std::int64_t i = 0; i < images * channels; ++i) values[i] = random.coin(rate) ? 0.0 : kept;
  return wide.to(type);
}

Tensor glorot_uniform(const std::vector<std::int64_t>& shape, std::int64_t fan_in,
                      std::int64_t fan_out, std::uint64_t seed, std::uint64_t stream,
                      torch::ScalarType type) {
  const double limit = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  Random random(seed, stream);
  Tensor wide = torch::empty(shape, torch::kFloat64);
  double* const values = wide.data_ptr<double>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) values[i] = random.uniform(-limit, limit);
  return wide.to(type);
}

FeatureExtractor::FeatureExtractor(FeatureExtractorOptions options, std::uint64_t seed,
                                   std::uint64_t stream)
    : options_(std::move(options)) {
  if (options_.layers.empty() || options_.in_channels < 1) {
    throw Error("a feature extractor needs at least one layer and one input channel",
                Fault::configuration);
  }
  if (!(options_.dropout >= 0 && options_.dropout < 1)) {
    throw Error("the dropout rate must be at least 0 and below 1", Fault::configuration);
  }
  const auto leaf = [](Tensor tensor) { return tensor.requires_grad_(true); };
  std::int64_t in = options_.in_channels;
  for (const ConvolutionLayer& given : options_.layers) {
    if (given.out_channels < 1 || given.kernel < 1 || given.stride < 1) {
      throw Error("a convolution's channels, kernel and stride must be at least 1",
                  Fault::configuration);
    }
    const std::int64_t out = given.out_channels;
    const std::int64_t area = given.kernel * given.kernel;
    Layer layer;
    layer.kernel = given.kernel;
    layer.stride = given.stride;
    layer.weight = leaf(glorot_uniform({out, in, given.kernel, given.kernel}, in * area, out * area,
                                       seed, stream + layers_.size(), options_.type));
    layer.bias = leaf(torch::zeros({out}, options_.type));
    if (layers_.size() + 1 < options_.layers.size()) {
      layer.scale = leaf(torch::ones({out}, options_.type));
      layer.shift = leaf(torch::zeros({out}, options_.type));
      layer.running_mean = torch::zeros({out}, options_.type);
      layer.running_variance = torch::ones({out}, options_.type);
    }
    layers_.push_back(std::move(layer));
    in = out;
  }
}

FeatureExtractor::Named FeatureExtractor::weights() const {
  Named all;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    all.emplace_back(numbered("conv", l, "weight"), layers_[l].weight);
    all.emplace_back(numbered("conv", l, "bias"), layers_[l].bias);
    if (l + 1 == layers_.size()) break;
    all.emplace_back(numbered("norm", l, "weight"), layers_[l].scale);
    all.emplace_back(numbered("norm", l, "bias"), layers_[l].shift);
  }
  return all;
}

FeatureExtractor::Named FeatureExtractor::buffers() const {
  Named all;
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    all.emplace_back(numbered("norm", l, "running_mean"), layers_[l].running_mean);
    all.emplace_back(numbered("norm", l, "running_var"), layers_[l].running_variance);
  }
  return all;
}

void FeatureExtractor::check(const Tensor& images) const {
  if (images.dim() == 4 && images.size(1) == options_.in_channels && images.numel() > 0 &&
      images.scalar_type() == options_.type) {
    return;
  }
  std::ostringstream text;
  text << "the feature extractor takes " << torch::toString(options_.type) << " images [N,"
       << options_.in_channels << ",H,W], not " << torch::toString(images.scalar_type()) << " "
       << images.sizes();
  throw Error(text.str(), Fault::internal);
}

bool FeatureExtractor::kernels_cover(const Tensor& images) const {
  return images.device().is_cpu() && options_.precision == Precision::float32 &&
         (options_.type == torch::kFloat32 || options_.type == torch::kFloat64) &&
         !(images.requires_grad() && torch::GradMode::is_enabled());
}

Tensor FeatureExtractor::train(const Tensor& images, const DropoutKey& key) {
  check(images);
  if (!kernels_cover(images)) return train_reference(images, key);
  variable_list trained;
  for (const auto& [name, weight] : weights()) trained.push_back(weight);
  return options_.type == torch::kFloat32
             ? train_with_kernels<float>(layers_, options_, images, key, trained)
             : train_with_kernels<double>(layers_, options_, images, key, trained);
}

Tensor FeatureExtractor::evaluate(const Tensor& images) const {
  check(images);
  if (!kernels_cover(images) || torch::GradMode::is_enabled()) return evaluate_reference(images);
  const std::int64_t together = std::clamp<std::int64_t>(
      pixels_of_an_evaluation / (images.size(2) * images.size(3)), 1, most_of_an_evaluation);
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < images.size(0); first += together) {
    const Tensor some =
        readable(images.narrow(0, first, std::min(together, images.size(0) - first)));
    parts.push_back(options_.type == torch::kFloat32
                        ? evaluate_with_kernels<float>(layers_, options_, some)
                        : evaluate_with_kernels<double>(layers_, options_, some));
  }
  return as_planes(parts.size() == 1 ? parts[0] : torch::cat(parts));
}

Tensor FeatureExtractor::reference(const Tensor& images, const DropoutKey* key) const {
  Tensor x = images;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const std::int64_t total_y = kernels::same_padding_total(x.size(2), layer.kernel, layer.stride);
    const std::int64_t total_x = kernels::same_padding_total(x.size(3), layer.kernel, layer.stride);
    x = torch::constant_pad_nd(
        x, {total_x / 2, total_x - total_x / 2, total_y / 2, total_y - total_y / 2});
    if (options_.precision == Precision::bfloat16) {
      x = torch::conv2d(x.to(torch::kBFloat16), layer.weight.to(torch::kBFloat16),
                        layer.bias.to(torch::kBFloat16), layer.stride)
              .to(options_.type);
    } else {
      x = torch::conv2d(x, layer.weight, layer.bias, layer.stride);
    }
    if (l + 1 == layers_.size()) break;
    x = torch::batch_norm(x, layer.scale, layer.shift, layer.running_mean, layer.running_variance,
                          key != nullptr, options_.norm_momentum, options_.norm_epsilon, false);
    x = options_.activation == Activation::relu ? torch::relu(x)
                                                : torch::leaky_relu(x, options_.slope);
    if (key != nullptr) {
      x = x * spatial_dropout(x.size(0), x.size(1), options_.dropout, *key,
                              static_cast<std::int64_t>(l), options_.type)
                  .to(x.device())
                  .unsqueeze(-1)
                  .unsqueeze(-1);
    }
  }
  return x;
}

Tensor FeatureExtractor::train_reference(const Tensor& images, const DropoutKey& key) {
  check(images);
  return reference(images, &key);
}

Tensor FeatureExtractor::evaluate_reference(const Tensor& images) const {
  check(images);
  return reference(images, nullptr);
}

}  // namespace seam::stages
