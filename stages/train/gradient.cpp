#include "stages/train/gradient.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace seam::stages {
namespace {

double sum_of_squares_on_cpu(const Tensor& gradient) {
  const Tensor plain = gradient.to(torch::kFloat32).contiguous();
  const auto* values = plain.data_ptr<float>();
  double total = 0;
  for (std::int64_t i = 0; i < plain.numel(); ++i) {
    total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return total;
}

/// The largest absolute value, or NaN if an element is NaN: without their signs, floats are ordered
/// like their bits, with NaNs above all others.
double largest_on_cpu(const Tensor& gradient) {
  const Tensor dense = (gradient.is_non_overlapping_and_dense() ? gradient : gradient.contiguous())
                           .to(torch::kFloat32);
  const auto* values = dense.data_ptr<float>();
  constexpr std::uint32_t without_sign = 0x7fffffff;
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < dense.numel(); ++i) {
    most = std::max(most, std::bit_cast<std::uint32_t>(values[i]) & without_sign);
  }
  return static_cast<double>(std::bit_cast<float>(most));
}

}  // namespace

double gradient_norm(const std::vector<Tensor>& gradients) {
  const torch::NoGradGuard no_gradient;
  double total = 0;
  std::vector<Tensor> elsewhere;  // squares on a device, which are fetched together
  for (const Tensor& gradient : gradients) {
    if (gradient.device().is_cpu()) {
      total += sum_of_squares_on_cpu(gradient);
    } else {
      elsewhere.push_back(gradient.to(torch::kFloat64).square().sum());
    }
  }
  if (!elsewhere.empty()) total += torch::stack(elsewhere).sum().item<double>();
  return std::sqrt(total);
}

GradientCheck check_gradient(const Tensor& loss, const std::vector<Tensor>& gradients) {
  const torch::NoGradGuard no_gradient;
  GradientCheck check;
  std::vector<Tensor> elsewhere{
      loss.detach().to(torch::kFloat32)};  // on a device: fetched together
  const auto add = [&](double value) {
    if (std::isnan(value) || value > check.largest) check.largest = value;
  };
  for (const Tensor& gradient : gradients) {
    if (gradient.numel() == 0) continue;
    if (gradient.device().is_cpu()) {
      add(largest_on_cpu(gradient));
    } else {
      elsewhere.push_back(
          torch::linalg_vector_norm(gradient, std::numeric_limits<double>::infinity())
              .to(loss.device(), torch::kFloat32));
    }
  }
  const Tensor read = torch::stack(elsewhere).to(torch::kCPU, torch::kFloat64);
  check.loss = read[0].item<double>();
  for (std::int64_t at = 1; at < read.size(0); ++at) add(read[at].item<double>());
  return check;
}

}  // namespace seam::stages
