#include "stages/nn/extractor_pass.hpp"

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <utility>

#include <seam/error.hpp>

#include "stages/nn/extractor_gradient.hpp"
#include "stages/nn/layers.hpp"

namespace seam::nn {
namespace {

using kernels::ConvolutionShape;
using torch::Tensor;
using torch::autograd::variable_list;

/// Number of pixels, and maximum number of images, that an evaluation passes through all layers at
/// a time, so that memory does not grow with the batch.
constexpr std::int64_t pixels_of_an_evaluation = std::int64_t{8} * 256 * 256;
constexpr std::int64_t most_of_an_evaluation = 64;

/// In the order that the kernels read: plane by plane, or pixel by pixel if the images are stored
/// so.
Tensor readable(const Tensor& images) {
  return images.is_contiguous(torch::MemoryFormat::ChannelsLast) ? images : images.contiguous();
}

/// Fills step.output; returns the sums of values and squares [2][C] if requested.
template <class T>
std::vector<double> convolve(const PassLayer& layer, const Tensor& images, const Step<T>* before,
                             Step<T>& step, bool want_sums) {
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
  const std::int64_t beyond = kernels.panels(shape) * kernels.panel - channels;
  const Tensor bias = torch::constant_pad_nd(layer.bias.detach(), {0, beyond});
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

/// Turns mean and variance into the factors that normalise.
template <class T>
void set_transform(const PassLayer& layer, double slope, const Tensor& variance, Tensor keep,
                   Step<T>& step) {
  step.deviation = torch::rsqrt(variance + keras_epsilon);
  const Tensor scale = layer.scale.detach().to(torch::kFloat64) * step.deviation;
  step.transform = {
      scale.to(layer.weight.scalar_type()),
      (layer.shift.detach().to(torch::kFloat64) - step.mean * scale).to(layer.weight.scalar_type()),
      std::move(keep), static_cast<T>(slope)};
}

/// The statistics of a batch from its sums; updates the running ones.
template <class T>
void normalise(PassLayer& layer, double slope, const std::vector<double>& sums, Tensor keep,
               Step<T>& step) {
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
  constexpr double momentum = keras_momentum;
  const double unbiased = count > 1 ? count / (count - 1) : 1.0;
  const torch::NoGradGuard no_gradient;
  layer.running_mean.copy_(layer.running_mean.to(torch::kFloat64) * (1 - momentum) +
                           step.mean * momentum);
  layer.running_variance.copy_(layer.running_variance.to(torch::kFloat64) * (1 - momentum) +
                               variance * (unbiased * momentum));
  set_transform(layer, slope, variance, std::move(keep), step);
}

ConvolutionShape shape_after(const PassLayer& layer, std::int64_t height, std::int64_t width) {
  return kernels::make_convolution_shape(height, width, layer.weight.size(1), layer.weight.size(0),
                                         layer.kernel, layer.stride);
}

/// The state that a forward pass keeps for its backward pass.
template <class T>
struct KeptPass : torch::CustomClassHolder {
  std::vector<PassLayer> layers;
  std::vector<Tensor> weights;          // the leaves
  std::vector<std::uint32_t> versions;  // of them
  Tensor images;
  std::vector<Step<T>> steps;
};

Tensor as_planes(const Tensor& pixels) {
  return pixels.permute({0, 3, 1, 2});
}

/// The extractor's node in the autograd graph: the pass has been computed, its gradients have not.
template <class T>
struct ExtractorFunction : torch::autograd::Function<ExtractorFunction<T>> {
  static Tensor forward(torch::autograd::AutogradContext* context,
                        const c10::intrusive_ptr<KeptPass<T>>& kept, at::TensorList /*weights*/) {
    context->saved_data["kept"] = torch::IValue::make_capsule(kept);
    return as_planes(kept->steps.back().output);
  }
  static variable_list backward(torch::autograd::AutogradContext* context,
                                const variable_list& gradients) {
    const auto capsule = context->saved_data["kept"].toCapsule();
    auto& kept = static_cast<KeptPass<T>&>(*capsule);
    if (kept.steps.empty()) {
      throw Error("the feature extractor's backward pass ran twice for one forward pass",
                  Fault::internal);
    }
    for (std::size_t i = 0; i < kept.weights.size(); ++i) {
      if (static_cast<std::uint32_t>(kept.weights[i]._version()) != kept.versions[i]) {
        throw Error(
            "a weight of the feature extractor changed between its forward and backward pass",
            Fault::internal);
      }
    }
    variable_list result = extractor_gradients<T>(kept.layers, kept.images, kept.steps,
                                                  gradients[0].permute({0, 2, 3, 1}).contiguous());
    // The graph may live on; the kept state need not.
    kept.steps.clear();
    kept.images = Tensor();
    result.insert(result.begin(), Tensor());  // the first argument's
    return result;
  }
};

template <class T>
Tensor train_layers(std::vector<PassLayer> layers, double slope, const Tensor& given,
                    const std::vector<Tensor>& keep, const std::vector<Tensor>& weights) {
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
      if (!last) normalise(layers[l], slope, sums, keep.at(l), steps[l]);
      height = steps[l].shape.out_height;
      width = steps[l].shape.out_width;
    }
  }
  if (!torch::GradMode::is_enabled()) return as_planes(steps.back().output);
  auto kept = c10::make_intrusive<KeptPass<T>>();
  for (const Tensor& weight : weights) {
    kept->versions.push_back(static_cast<std::uint32_t>(weight._version()));
  }
  kept->layers = std::move(layers);
  kept->weights = weights;
  kept->images = std::move(images);
  kept->steps = std::move(steps);
  return ExtractorFunction<T>::apply(kept, at::TensorList(weights));
}

template <class T>
Tensor evaluate(const std::vector<PassLayer>& layers, double slope, const Tensor& images) {
  std::int64_t height = images.size(2);
  std::int64_t width = images.size(3);
  Step<T> before;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    Step<T> step;
    step.shape = shape_after(layers[l], height, width);
    convolve(layers[l], images, l > 0 ? &before : nullptr, step, false);
    if (l + 1 < layers.size()) {
      step.mean = layers[l].running_mean.to(torch::kFloat64);
      set_transform(layers[l], slope, layers[l].running_variance.to(torch::kFloat64),
                    torch::ones({images.size(0), step.shape.out_channels}, images.options()), step);
    }
    height = step.shape.out_height;
    width = step.shape.out_width;
    before = std::move(step);
  }
  return before.output;
}

}  // namespace

Tensor train_pass(std::vector<PassLayer> layers, double slope, const Tensor& images,
                  const std::vector<Tensor>& keep, const std::vector<Tensor>& weights) {
  return images.scalar_type() == torch::kFloat32
             ? train_layers<float>(std::move(layers), slope, images, keep, weights)
             : train_layers<double>(std::move(layers), slope, images, keep, weights);
}

Tensor evaluate_pass(const std::vector<PassLayer>& layers, double slope, const Tensor& images) {
  const torch::NoGradGuard no_gradient;
  const std::int64_t together = std::clamp<std::int64_t>(
      pixels_of_an_evaluation / (images.size(2) * images.size(3)), 1, most_of_an_evaluation);
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < images.size(0); first += together) {
    const Tensor some =
        readable(images.narrow(0, first, std::min(together, images.size(0) - first)));
    parts.push_back(images.scalar_type() == torch::kFloat32
                        ? evaluate<float>(layers, slope, some)
                        : evaluate<double>(layers, slope, some));
  }
  return as_planes(parts.size() == 1 ? parts[0] : torch::cat(parts));
}

}  // namespace seam::nn
