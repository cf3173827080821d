#include "stages/nn/layers.hpp"

#include <ATen/OpMathType.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/autograd.h>
#include <torch/expanding_array.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <seam/error.hpp>

#include "stages/nn/fixed_parts.hpp"

#if TORCH_VERSION_MAJOR < 2
// Classes derived from BatchNorm2dImpl need this function, which LibTorch 1.13 declares, but does
// not export.
template <>
void torch::nn::BatchNormImplBase<2, torch::nn::BatchNorm2dImpl>::pretty_print(
    std::ostream& stream) const {
  stream << "torch::nn::BatchNorm2d(" << options.num_features() << ")";
}
#endif

namespace seam::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

bool on_cpu(const Tensor& x) {
  return x.device().is_cpu() && x.size(0) > 0;
}

/// Converts as autocast would, if it is on: a custom Function has to do it itself.
Tensor narrowed(const Tensor& x) {
  const bool on = !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCPU);
  return on && x.scalar_type() == torch::kFloat32 ? x.to(torch::kBFloat16) : x;
}

/// A Function does not accept undefined tensors: one without elements means no bias.
Tensor bias_or_none(const Tensor& bias, const Tensor& x) {
  return bias.defined() ? narrowed(bias) : at::empty({0}, x.options());
}

/// A product of x with a weight takes one multiplication for each of the weight's elements and each
/// row or pixel of x. 64 of them take as long as reading and writing an element.
std::int64_t parts_for_product(const Tensor& x, const Tensor& weight) {
  return parts_for(x.numel() / std::max<std::int64_t>(1, x.size(1)) * weight.numel() / 64);
}

/// Each part by one thread: for some sizes oneDNN sums differently with a different number of
/// threads.
struct ConvolutionFunction : public Function<ConvolutionFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, std::vector<std::int64_t> stride,
                        std::vector<std::int64_t> padding, std::vector<std::int64_t> dilation,
                        bool transposed, std::int64_t groups) {
    context->save_for_backward({x, weight});
    Joined result(x.size(0));
    in_parts(x.size(0), parts_for_product(x, weight),
             [&](std::int64_t /*part*/, std::int64_t first, std::int64_t rows) {
               result.put(first, at::convolution(x.narrow(0, first, rows), weight,
                                                 bias.numel() > 0 ? bias : Tensor(), stride,
                                                 padding, dilation, transposed,
                                                 /*output_padding=*/{0, 0}, groups));
             });
    context->saved_data["bias"] = bias.numel() > 0;
    context->saved_data["stride"] = std::move(stride);
    context->saved_data["padding"] = std::move(padding);
    context->saved_data["dilation"] = std::move(dilation);
    context->saved_data["transposed"] = transposed;
    context->saved_data["groups"] = groups;
    return result.whole();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const Tensor dy = gradients[0].contiguous(x.suggest_memory_format());
    const auto stride = context->saved_data["stride"].toIntVector();
    const auto padding = context->saved_data["padding"].toIntVector();
    const auto dilation = context->saved_data["dilation"].toIntVector();
    const bool transposed = context->saved_data["transposed"].toBool();
    const std::int64_t groups = context->saved_data["groups"].toInt();
    const bool of_x = context->needs_input_grad(0);
    const bool of_weight = context->needs_input_grad(1);
    const bool of_bias = context->needs_input_grad(2) && context->saved_data["bias"].toBool();
    Joined dx(x.size(0));
    std::vector<Tensor> weights(most_parts);
    std::vector<Tensor> biases(most_parts);
    const std::int64_t parts =
        in_parts(x.size(0), parts_for_product(x, weight),
                 [&](std::int64_t part, std::int64_t first, std::int64_t rows) {
                   Tensor input;
                   std::tie(input, weights[part], biases[part]) = at::convolution_backward(
                       dy.narrow(0, first, rows), x.narrow(0, first, rows), weight,
                       at::OptionalIntArrayRef(), stride, padding, dilation, transposed,
                       std::vector<std::int64_t>{0, 0}, groups, {of_x, of_weight, of_bias});
                   if (of_x) dx.put(first, input);
                 });
    weights.resize(parts);
    biases.resize(parts);
    return {dx.whole(),
            of_weight ? sum_in_order(weights) : Tensor(),
            of_bias ? sum_in_order(biases) : Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

struct NormalisationFunction : public Function<NormalisationFunction> {
  /// Mean and biased variance of the batch, combined from its parts as Chan, Golub and LeVeque
  /// (1979) do.
  static std::pair<Tensor, Tensor> statistics(const Tensor& x) {
    std::vector<Tensor> means(most_parts);
    std::vector<Tensor> variances(most_parts);
    std::vector<double> counts(most_parts);
    const double pixels = static_cast<double>(x.size(2) * x.size(3));
    const std::int64_t parts =
        in_parts(x.size(0), parts_for(x.numel()),
                 [&](std::int64_t part, std::int64_t first, std::int64_t rows) {
                   // With statistics in float32 to update, those of a bfloat16 batch are in float32
                   // too.
                   const auto type = x.options().dtype(at::toOpMathType(x.scalar_type()));
                   std::tie(means[part], variances[part]) = at::batch_norm_update_stats(
                       x.narrow(0, first, rows), at::zeros({x.size(1)}, type),
                       at::ones({x.size(1)}, type), 0);
                   counts[part] = static_cast<double>(rows) * pixels;
                 });
    Tensor mean = means[0].to(torch::kFloat64);
    Tensor squares = variances[0].to(torch::kFloat64) * counts[0];
    double count = counts[0];
    for (std::int64_t part = 1; part < parts; ++part) {
      const Tensor apart = means[part].to(torch::kFloat64) - mean;
      const double sum = count + counts[part];
      squares += variances[part].to(torch::kFloat64) * counts[part] +
                 apart.square() * (count * counts[part] / sum);
      mean += apart * (counts[part] / sum);
      count = sum;
    }
    return {mean, squares / count};
  }

  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, const Tensor& mean, const Tensor& variance,
                        double epsilon) {
    context->save_for_backward({x, weight, mean, (variance + epsilon).rsqrt()});
    return std::get<0>(
        at::native_batch_norm(x, weight, bias, mean, variance, /*training=*/false, 0, epsilon));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const Tensor& mean = saved[2];
    const Tensor& inverse = saved[3];  // 1 / deviation
    const Tensor dy = gradients[0].contiguous(x.suggest_memory_format());
    std::vector<Tensor> weights(most_parts);
    std::vector<Tensor> biases(most_parts);
    const std::int64_t parts = in_parts(
        x.size(0), parts_for(x.numel()),
        [&](std::int64_t part, std::int64_t first, std::int64_t rows) {
          std::tie(std::ignore, weights[part], biases[part]) = at::native_batch_norm_backward(
              dy.narrow(0, first, rows), x.narrow(0, first, rows), weight, {}, {}, mean, inverse,
              /*train=*/true, 0, {false, true, true});
        });
    weights.resize(parts);
    biases.resize(parts);
    const Tensor dw = sum_in_order(weights);
    const Tensor db = sum_in_order(biases);
    Tensor dx;
    if (context->needs_input_grad(0)) {
      // dx = a (dy - (db + (x - mean) / deviation dw) / count), as a dy + b x + c
      const std::int64_t values = x.numel() / x.size(1);  // of a channel; divides evenly
      const auto count = static_cast<double>(values);
      const Tensor a = weight * inverse;
      const Tensor b = a * inverse * dw / -count;
      const Tensor c = a * db / -count - b * mean;
      const auto like_x = [&](const Tensor& t) {
        return t.to(x.scalar_type()).view({1, -1, 1, 1});
      };
      const Tensor of_x = like_x(b);
      const Tensor of_dy = like_x(a);
      const Tensor rest = like_x(c);
      dx = at::empty_like(x);
      // In fixed parts, since addcmul rounds once or twice, depending on where a thread's share
      // ends.
      in_parts(x.size(0), parts_for(x.numel()),
               [&](std::int64_t /*part*/, std::int64_t first, std::int64_t rows) {
                 Tensor out = dx.narrow(0, first, rows);
                 at::addcmul_out(out, rest, x.narrow(0, first, rows), of_x);
                 out.addcmul_(dy.narrow(0, first, rows), of_dy);
               });
    }
    return {dx, dw, db, Tensor(), Tensor(), Tensor()};
  }
};

/// a @ b with the rows of `a` in parts.
Tensor product(const Tensor& a, const Tensor& b) {
  Tensor result = at::empty({a.size(0), b.size(1)}, a.options());
  in_parts(a.size(0), parts_for_product(a, b),
           [&](std::int64_t /*part*/, std::int64_t first, std::int64_t rows) {
             Tensor out = result.narrow(0, first, rows);
             at::mm_out(out, a.narrow(0, first, rows), b);
           });
  return result;
}

struct LinearFunction : public Function<LinearFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
    context->save_for_backward({x, weight});
    const Tensor y = product(x, weight.t());
    return bias.numel() > 0 ? y.add_(bias) : y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor dy = gradients[0].contiguous();
    Tensor dx;
    if (context->needs_input_grad(0)) dx = product(dy, saved[1]);
    Tensor dw;
    if (context->needs_input_grad(1)) dw = product(dy.t().contiguous(), saved[0]);
    return {dx, dw, context->needs_input_grad(2) ? dy.sum(0) : Tensor()};
  }
};

/// Whether oneDNN would write past its workspace when it computes the gradient of the weights of
/// this 1x1 convolution, as it does if few channels are adjacent in memory
/// (https://github.com/uxlfoundation/oneDNN/issues/6035).
bool overruns_a_workspace(const torch::nn::detail::ConvNdOptions<2>& options) {
  constexpr std::int64_t block = 16;  // of AVX-512; 8 of AVX2
  return options.kernel_size()->at(0) == 1 && options.kernel_size()->at(1) == 1 &&
         (options.stride()->at(0) > 1 || options.stride()->at(1) > 1) &&
         options.in_channels() / options.groups() < block;
}

/// The pixels that a 1x1 convolution of this stride reads.
Tensor read_pixels(const Tensor& x, const torch::ExpandingArray<2>& stride) {
  using torch::indexing::None;
  using torch::indexing::Slice;
  return x
      .index({Slice(), Slice(), Slice(None, None, stride->at(0)), Slice(None, None, stride->at(1))})
      .contiguous(x.suggest_memory_format());
}

/// Null if the padding is a word, such as "same".
template <class Padding>
const torch::ExpandingArray<2>* numbers_of(const Padding& padding) {
  return get_if<torch::ExpandingArray<2>>(&padding);  // c10's in LibTorch 1.13, then std's
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!on_cpu(x) || x.dim() != 2) return torch::linear(x, weight, bias);
  return LinearFunction::apply(narrowed(x), narrowed(weight), bias_or_none(bias, x));
}

Tensor Conv2dImpl::forward(const Tensor& x) {
  const auto* const padding = numbers_of(options.padding());
  if (!on_cpu(x) || padding == nullptr || x.dim() != 4) return torch::nn::Conv2dImpl::forward(x);
  std::vector<std::int64_t> stride = at::IntArrayRef(*options.stride()).vec();
  Tensor pixels = x;
  if (overruns_a_workspace(options) && (*padding)->at(0) == 0 && (*padding)->at(1) == 0) {
    pixels = read_pixels(x, options.stride());
    stride = {1, 1};
  }
  return ConvolutionFunction::apply(narrowed(pixels), narrowed(weight), bias_or_none(bias, x),
                                    std::move(stride), at::IntArrayRef(**padding).vec(),
                                    at::IntArrayRef(*options.dilation()).vec(),
                                    /*transposed=*/false, options.groups());
}

Tensor ConvTranspose2dImpl::forward(const Tensor& x) {
  const auto all_are = [](at::IntArrayRef values, std::int64_t value) {
    return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
  };
  const bool plain = options.groups() == 1 && all_are(*options.dilation(), 1) &&
                     all_are(*options.output_padding(), 0);
  const auto* const padding = numbers_of(options.padding());
  if (!on_cpu(x) || !plain || padding == nullptr || x.dim() != 4) {
    return torch::nn::ConvTranspose2dImpl::forward(x);
  }
#if TORCH_VERSION_MAJOR < 2
  // LibTorch 1.13 has no transposed convolution in bfloat16 for processors without AVX-512.
  const c10::impl::ExcludeDispatchKeyGuard precise(c10::autocast_dispatch_keyset);
  const Tensor pixels = x.scalar_type() == torch::kBFloat16 ? x.to(torch::kFloat32) : x;
#else
  const Tensor& pixels = x;
#endif
  return ConvolutionFunction::apply(
      narrowed(pixels), narrowed(weight), bias_or_none(bias, pixels),
      at::IntArrayRef(*options.stride()).vec(), at::IntArrayRef(**padding).vec(),
      std::vector<std::int64_t>{1, 1}, /*transposed=*/true, std::int64_t{1});
}

Tensor BatchNorm2dImpl::forward(const Tensor& x) {
  if (!is_training() || !on_cpu(x) || !weight.defined()) {
    return torch::nn::BatchNorm2dImpl::forward(x);
  }
  _check_input_dim(x);
  if (x.numel() == x.size(1)) {  // as LibTorch: the variance of one value is 0, its output constant
    throw Error(
        "batch normalisation in training needs more than one value for each channel, but this "
        "batch is one image with one pixel; make batches larger");
  }
  Tensor mean;
  Tensor variance;
  {
    const torch::NoGradGuard no_gradient;
    std::tie(mean, variance) = NormalisationFunction::statistics(x.detach());
    if (running_mean.defined()) {
      // As PyTorch: the unbiased variance, and the mean of all batches if there is no momentum.
      num_batches_tracked.add_(1);
      const double momentum =
          options.momentum() ? *options.momentum() : 1.0 / num_batches_tracked.item<double>();
      const std::int64_t values = x.numel() / x.size(1);  // of a channel; divides evenly
      const auto count = static_cast<double>(values);
      running_mean.lerp_(mean.to(running_mean.scalar_type()), momentum);
      running_var.lerp_(
          (variance * (count / std::max(1.0, count - 1))).to(running_var.scalar_type()), momentum);
    }
    mean = mean.to(weight.scalar_type());
    variance = variance.to(weight.scalar_type());
  }
  return NormalisationFunction::apply(x, weight, bias, mean, variance, options.eps());
}

Tensor LinearImpl::forward(const Tensor& x) {
  return linear(x, weight, bias);
}

}  // namespace seam::nn
