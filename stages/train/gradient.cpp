#include "stages/train/gradient.hpp"

#include <torch/torch.h>

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
  std::vector<Tensor> values{loss.detach().to(torch::kFloat32)};
  for (const Tensor& gradient : gradients) {
    if (gradient.numel() == 0) continue;
    values.push_back(torch::linalg_vector_norm(gradient, std::numeric_limits<double>::infinity())
                         .to(loss.device(), torch::kFloat32));
  }
  const Tensor read = torch::stack(values).to(torch::kCPU, torch::kFloat64);
  GradientCheck check{read[0].item<double>(), 0};
  if (values.size() > 1) check.largest = read.slice(0, 1).max().item<double>();
  return check;
}

}  // namespace seam::stages
