#include "stages/nn/squash.hpp"

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "stages/cpu/grain.hpp"
#include "stages/nn/fixed_parts.hpp"
#include "stages/nn/kernels/routing.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

template <class T>
void squash_forward(const Tensor& s, double epsilon, Tensor& v) {
  const std::int64_t size = s.size(-1);
  const auto& kernels = kernels::routing_kernels<T>();
  const T* from = s.data_ptr<T>();
  T* to = v.data_ptr<T>();
  at::parallel_for(0, s.numel() / size, stages::grain(1024),
                   [&](std::int64_t first, std::int64_t last) {
                     kernels.squash(last - first, size, static_cast<T>(epsilon),
                                    from + first * size, to + first * size);
                   });
}

template <class T>
void squash_backward(const Tensor& s, const Tensor& v_gradient, double epsilon,
                     Tensor& s_gradient) {
  const std::int64_t size = s.size(-1);
  const auto& kernels = kernels::routing_kernels<T>();
  const T* from = s.data_ptr<T>();
  const T* gradient = v_gradient.data_ptr<T>();
  T* to = s_gradient.data_ptr<T>();
  at::parallel_for(
      0, s.numel() / size, stages::grain(1024), [&](std::int64_t first, std::int64_t last) {
        kernels.squash_gradient(last - first, size, static_cast<T>(epsilon), from + first * size,
                                gradient + first * size, to + first * size);
      });
}

struct SquashFunction : torch::autograd::Function<SquashFunction> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& s,
                        double epsilon) {
    const Tensor plain = s.contiguous();
    Tensor v = torch::empty_like(plain);
    if (plain.scalar_type() == torch::kFloat32) {
      squash_forward<float>(plain, epsilon, v);
    } else {
      squash_forward<double>(plain, epsilon, v);
    }
    context->save_for_backward({plain});
    context->saved_data["epsilon"] = epsilon;
    return v;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const Tensor s = context->get_saved_variables()[0];
    const double epsilon = context->saved_data["epsilon"].toDouble();
    const Tensor gradient = gradients[0].contiguous();
    Tensor result = torch::empty_like(s);
    if (s.scalar_type() == torch::kFloat32) {
      squash_backward<float>(s, gradient, epsilon, result);
    } else {
      squash_backward<double>(s, gradient, epsilon, result);
    }
    return {result, Tensor()};
  }
};

}  // namespace

Tensor squash_reference(const Tensor& s, double epsilon) {
  const Tensor square = (s * s).sum(-1, true);
  return s * (square / (1 + square) / torch::sqrt(square + epsilon));
}

Tensor squash(const Tensor& s, double epsilon) {
  const bool covered = s.device().is_cpu() && s.numel() > 0 && s.dim() > 0 &&
                       (s.scalar_type() == torch::kFloat32 || s.scalar_type() == torch::kFloat64);
  return covered ? SquashFunction::apply(s, epsilon) : squash_reference(s, epsilon);
}

Tensor squash(const Tensor& s, SquashForm form, double epsilon) {
  if (form == SquashForm::none) return s;
  if (form == SquashForm::epsilon_in_root) return squash(s, epsilon);
  return by_parts(
      s, [form, epsilon](const Tensor& rows) { return squash_reference(rows, form, epsilon); });
}

Tensor squash_reference(const Tensor& s, SquashForm form, double epsilon) {
  switch (form) {
    case SquashForm::epsilon_in_root:
      return squash_reference(s, epsilon);
    case SquashForm::epsilon_after_root: {
      const Tensor square = (s * s).sum(-1, true);
      const Tensor zero = square.detach() == 0;  // where the root's slope is infinite
      const Tensor length = torch::sqrt(square.masked_fill(zero, 1)).masked_fill(zero, 0);
      return s * (square / (1 + square) / (length + epsilon));
    }
    case SquashForm::tanh:
      return torch::tanh(s);
    case SquashForm::none:
      return s;
  }
  return s;  // unreachable: all forms are listed
}

}  // namespace seam::nn
