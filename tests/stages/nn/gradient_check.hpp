/// Compares gradients with central differences, in double, on the inputs' device.
#pragma once

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <functional>
#include <vector>

namespace seam::test {

/// Checks d(f)/d(inputs) for a scalar f at up to `samples` elements of each input.
inline void expect_gradients(const std::function<torch::Tensor()>& f,
                             std::vector<torch::Tensor> inputs, std::int64_t samples = 24,
                             double step = 1e-5, double tolerance = 1e-6) {
  for (torch::Tensor& input : inputs) {
    if (input.grad().defined()) input.mutable_grad() = torch::Tensor();
  }
  {
    const at::AutoGradMode gradients(true);  // a stage's harness may have turned them off
    f().backward();
  }
  const torch::NoGradGuard no_gradient;
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    torch::Tensor& input = inputs[which];
    ASSERT_TRUE(input.grad().defined()) << "input " << which << " got no gradient";
    const torch::Tensor gradient = input.grad().to(torch::kCPU).contiguous();
    const torch::Tensor values = input.detach().view(-1);
    const std::int64_t stride = std::max<std::int64_t>(1, input.numel() / samples);
    for (std::int64_t i = 0; i < input.numel(); i += stride) {
      const torch::Tensor value = values[i];
      const auto kept = value.item<double>();
      value.fill_(kept + step);
      const double above = f().item<double>();
      value.fill_(kept - step);
      const double below = f().item<double>();
      value.fill_(kept);
      const double expected = (above - below) / (2 * step);
      const double actual = gradient.data_ptr<double>()[i];
      EXPECT_NEAR(actual, expected, tolerance * std::max(1.0, std::abs(expected)))
          << "input " << which << ", element " << i;
    }
  }
}

/// Sets LibTorch's thread count for a scope.
class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  Threads(Threads&&) = delete;
  Threads& operator=(Threads&&) = delete;

 private:
  int before_;
};

}  // namespace seam::test
