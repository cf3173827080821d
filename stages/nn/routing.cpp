#include "stages/nn/routing.hpp"

#include <ATen/Parallel.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <seam/error.hpp>

#include "stages/nn/fixed_parts.hpp"
#include "stages/nn/kernels/routing.hpp"
#include "stages/nn/layers.hpp"
#include "stages/nn/own_routing.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_shapes(const Tensor& u, const Tensor& weight, std::int64_t classes,
                  const RoutingOptions& options) {
  const auto refuse = [&](const std::string& what) {
    throw Error(c10::str("routing: ", what, "; input capsules are ", u.sizes(), ", the weight is ",
                         weight.sizes(), ", classes = ", classes),
                Fault::internal);
  };
  if (u.dim() != 3) refuse("input capsules must be [images, capsules, dimensions]");
  const bool own = weight.dim() == 3 && weight.size(0) == u.size(1);
  if ((weight.dim() != 2 && !own) || weight.size(-2) != u.size(2)) {
    refuse(
        "the weight must be [dimensions of an input capsule, classes * dimensions of a class "
        "capsule], preceded by the input capsules if each has its own");
  }
  if (classes < 1 || weight.size(-1) % classes != 0) {
    refuse("the weight's columns must be a multiple of the classes");
  }
  if (options.iterations < 1) refuse("at least one iteration is needed");
  if (u.scalar_type() != weight.scalar_type()) refuse("capsules and weight differ in type");
  if (options.agreement == Agreement::cosine && options.squash == SquashForm::tanh) {
    refuse("cosines are those of the sums, whose direction tanh changes");
  }
}

/// The dimension of logits [B,K,N] that the coupling coefficients sum to one over.
std::int64_t softmax_dimension(const RoutingOptions& options) {
  return options.softmax == RoutingSoftmax::classes ? 1 : 2;
}

/// 1 / |x| along the last dimension; finite at zero.
Tensor inverse_lengths(const Tensor& x) {
  return torch::rsqrt(torch::clamp_min((x * x).sum(-1), 1e-12));
}

/// With weights [N,D,K*O], or the [D,K*O] of all.
Tensor route_predictions(const Tensor& u, const Tensor& weight, std::int64_t classes,
                         const RoutingOptions& options) {
  const Tensor predictions = u.transpose(0, 1)
                                 .matmul(weight)
                                 .view({u.size(1), u.size(0), classes, -1})
                                 .permute({1, 2, 0, 3})
                                 .contiguous();  // û [B,K,N,O]
  const bool cosine = options.agreement == Agreement::cosine;
  const Tensor scale =
      cosine ? inverse_lengths(predictions) * options.factor : Tensor();  // [B,K,N]
  Tensor logits = torch::zeros({u.size(0), classes, u.size(1)}, u.options());
  for (std::int64_t t = 0;; ++t) {
    const Tensor couplings = torch::softmax(logits, softmax_dimension(options));
    const Tensor s = couplings.unsqueeze(2).matmul(predictions).squeeze(2);
    const Tensor v = squash_reference(s, options.squash, options.epsilon);
    if (t + 1 == options.iterations) return v;
    // The squash keeps the direction (see check()), but makes short vectors too short for a cosine.
    const Tensor& parent = cosine ? s : v;
    Tensor agreement = predictions.matmul(parent.unsqueeze(-1)).squeeze(-1);
    if (cosine) agreement = agreement * inverse_lengths(parent).unsqueeze(-1) * scale;
    logits = options.logits == Logits::replace ? agreement : logits + agreement;
  }
}

/// Products of each class' rows [B,K,x] and its matrix [K,x,y]: [B,K,y].
Tensor by_class(const Tensor& rows, const Tensor& matrices) {
  return rows.transpose(0, 1).matmul(matrices).transpose(0, 1);
}

/// Never makes a tensor of images times capsules times classes times their size.
Tensor route_factored(const Tensor& u, const Tensor& weight, std::int64_t classes,
                      const RoutingOptions& options) {
  const std::int64_t size = weight.size(1) / classes;
  const Tensor matrices = weight.view({u.size(2), classes, size}).transpose(0, 1);  // [K,D,O]
  const Tensor capsules = u.transpose(1, 2);                                        // [B,D,N]
  const Tensor transposed = matrices.transpose(1, 2);                               // [K,O,D]
  // The logits of the first iteration are zeros, and the couplings equal.
  const bool over_classes = options.softmax == RoutingSoftmax::classes;
  const double equal = 1.0 / static_cast<double>(over_classes ? classes : u.size(1));
  Tensor logits;  // [B,K,N]
  Tensor sums = (u.sum(1, true) * equal).expand({u.size(0), classes, u.size(2)});
  for (std::int64_t t = 0;; ++t) {
    const Tensor v = squash_reference(by_class(sums, matrices), options.squash, options.epsilon);
    if (t + 1 == options.iterations) return v;
    const Tensor agreement = by_class(v, transposed).matmul(capsules);
    logits = t == 0 || options.logits == Logits::replace ? agreement : logits + agreement;
    sums = torch::softmax(logits, softmax_dimension(options)).matmul(u);
  }
}

Tensor plain(const Tensor& u, const Tensor& weight, std::int64_t classes,
             const RoutingOptions& options) {
  // Sums over thousands of capsules are computed in the capsules' own type.
  const c10::impl::ExcludeDispatchKeyGuard precise(c10::autocast_dispatch_keyset);
  return weight.dim() == 3 || options.agreement == Agreement::cosine
             ? route_predictions(u, weight, classes, options)
             : route_factored(u, weight, classes, options);
}

/// One iteration with weights [N,D,K*O]: the couplings are equal.
Tensor route_once(const Tensor& u, const Tensor& weight, std::int64_t classes,
                  const RoutingOptions& options) {
  const c10::impl::ExcludeDispatchKeyGuard precise(c10::autocast_dispatch_keyset);
  const bool over_classes = options.softmax == RoutingSoftmax::classes;
  const Tensor s = nn::linear(u.flatten(1), weight.flatten(0, 1).t()) /
                   static_cast<double>(over_classes ? classes : u.size(1));
  return squash(s.view({u.size(0), classes, -1}), options.squash, options.epsilon);
}

kernels::RoutingShape shape_of(const Tensor& u, const Tensor& weight, std::int64_t classes,
                               const RoutingOptions& options) {
  kernels::RoutingShape shape;
  shape.inputs = u.size(1);
  shape.input_size = u.size(2);
  shape.outputs = classes;
  shape.output_size = weight.size(1) / classes;
  shape.iterations = options.iterations;
  shape.accumulate = options.logits == Logits::accumulate;
  return shape;
}

struct Routed {
  Tensor v;      // [B,K,O]
  Tensor saved;  // [B, values that the kernels keep per image]
};

/// Scratch memory per thread, in one allocation for all.
template <class T>
Tensor scratch_of(std::int64_t size, const Tensor& like) {
  constexpr std::int64_t line = 64 / sizeof(T);
  return torch::empty({at::get_num_threads(), (size + line - 1) / line * line}, like.options());
}

template <class T>
Routed forward_kernels(const Tensor& u, const Tensor& weight, const kernels::RoutingShape& shape,
                       double epsilon) {
  const auto& kernels = kernels::routing_kernels<T>();
  const std::int64_t batch = u.size(0);
  const std::int64_t output = shape.outputs * shape.output_size;
  Routed result{torch::empty({batch, shape.outputs, shape.output_size}, u.options()),
                torch::empty({batch, kernels.saved_size(shape)}, u.options())};
  const Tensor scratch = scratch_of<T>(kernels.scratch_size(shape), u);
  at::parallel_for(0, batch, 1, [&](std::int64_t first, std::int64_t last) {
    T* memory = scratch.data_ptr<T>() + at::get_thread_num() * scratch.size(1);
    for (std::int64_t image = first; image < last; ++image) {
      kernels.forward(shape, static_cast<T>(epsilon),
                      u.data_ptr<T>() + image * u.size(1) * u.size(2), weight.data_ptr<T>(), memory,
                      result.saved.data_ptr<T>() + image * result.saved.size(1),
                      result.v.data_ptr<T>() + image * output);
    }
  });
  return result;
}

/// The gradients of u and weight.
template <class T>
variable_list backward_kernels(const Tensor& u, const Tensor& weight, const Tensor& saved,
                               const Tensor& v_gradient, const kernels::RoutingShape& shape,
                               double epsilon) {
  const auto& kernels = kernels::routing_kernels<T>();
  const std::int64_t batch = u.size(0);
  const std::int64_t output = shape.outputs * shape.output_size;
  const std::int64_t weights = weight.numel();
  Tensor u_gradient = torch::empty_like(u);
  Tensor weight_gradient = torch::zeros_like(weight);
  // One partial sum per image, added up in order: bit-identical for any number of threads.
  const Tensor partial = torch::empty({batch, weights}, u.options());
  const Tensor scratch = scratch_of<T>(kernels.scratch_size(shape), u);
  at::parallel_for(0, batch, 1, [&](std::int64_t first, std::int64_t last) {
    T* memory = scratch.data_ptr<T>() + at::get_thread_num() * scratch.size(1);
    for (std::int64_t image = first; image < last; ++image) {
      const std::int64_t offset = image * u.size(1) * u.size(2);
      kernels.backward(shape, static_cast<T>(epsilon), u.data_ptr<T>() + offset,
                       weight.data_ptr<T>(), saved.data_ptr<T>() + image * saved.size(1),
                       v_gradient.data_ptr<T>() + image * output, memory,
                       u_gradient.data_ptr<T>() + offset, partial.data_ptr<T>() + image * weights);
    }
  });
  T* const sum = weight_gradient.data_ptr<T>();
  for (std::int64_t image = 0; image < batch; ++image) {
    const T* const term = partial.data_ptr<T>() + image * weights;
    for (std::int64_t i = 0; i < weights; ++i) sum[i] += term[i];
  }
  return {u_gradient, weight_gradient};
}

struct RoutingFunction : torch::autograd::Function<RoutingFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& u, const Tensor& weight,
                        std::int64_t classes, const RoutingOptions& options) {
    const Tensor plain_u = u.contiguous();
    const Tensor plain_weight = weight.contiguous();
    const kernels::RoutingShape shape = shape_of(u, weight, classes, options);
    const Routed result =
        u.scalar_type() == torch::kFloat32
            ? forward_kernels<float>(plain_u, plain_weight, shape, options.epsilon)
            : forward_kernels<double>(plain_u, plain_weight, shape, options.epsilon);
    context->save_for_backward({plain_u, plain_weight, result.saved});
    context->saved_data["classes"] = classes;
    context->saved_data["iterations"] = options.iterations;
    context->saved_data["accumulate"] = options.logits == Logits::accumulate;
    context->saved_data["epsilon"] = options.epsilon;
    return result.v;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    RoutingOptions options;
    options.iterations = context->saved_data["iterations"].toInt();
    options.logits =
        context->saved_data["accumulate"].toBool() ? Logits::accumulate : Logits::replace;
    const double epsilon = context->saved_data["epsilon"].toDouble();
    const kernels::RoutingShape shape =
        shape_of(saved[0], saved[1], context->saved_data["classes"].toInt(), options);
    const Tensor gradient = gradients[0].contiguous();
    const variable_list result =
        saved[0].scalar_type() == torch::kFloat32
            ? backward_kernels<float>(saved[0], saved[1], saved[2], gradient, shape, epsilon)
            : backward_kernels<double>(saved[0], saved[1], saved[2], gradient, shape, epsilon);
    return {result[0], result[1], Tensor(), Tensor()};
  }
};

bool covered(const Tensor& u, const Tensor& weight, const RoutingOptions& options) {
  return weight.dim() == 2 && options.agreement == Agreement::product &&
         options.softmax == RoutingSoftmax::classes &&
         options.squash == SquashForm::epsilon_in_root && u.device().is_cpu() && u.numel() > 0 &&
         (u.scalar_type() == torch::kFloat32 || u.scalar_type() == torch::kFloat64);
}

}  // namespace

Tensor route(const Tensor& u, const Tensor& weight, std::int64_t classes,
             const RoutingOptions& options) {
  check_shapes(u, weight, classes, options);
  if (weight.dim() == 3 && options.iterations == 1 && u.numel() > 0) {
    return route_once(u, weight, classes, options);
  }
  if (weight.dim() == 3 && options.agreement == Agreement::product && u.device().is_cpu() &&
      u.numel() > 0) {
    return route_own(u, weight, classes, options);
  }
  if (!covered(u, weight, options)) {
    return by_parts(u, weight, [classes, options](const Tensor& rows, const Tensor& matrices) {
      return plain(rows, matrices, classes, options);
    });
  }
  return RoutingFunction::apply(u, weight, classes, options);
}

Tensor route_plain(const Tensor& u, const Tensor& weight, std::int64_t classes,
                   const RoutingOptions& options) {
  check_shapes(u, weight, classes, options);
  return plain(u, weight, classes, options);
}

}  // namespace seam::nn
