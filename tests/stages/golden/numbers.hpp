/// Numbers that programs in Python make as well, and by which they tell what they computed.
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace seam::test {

/// The `numbers` of the programs: between -1 and 1, in no visible order.
inline torch::Tensor numbers(std::int64_t count, double phase) {
  const torch::Tensor at = torch::arange(count, torch::kFloat64);
  return torch::sin(12.9898 * at + phase) * torch::cos(4.1414 * at + 2 * phase);
}

/// Two numbers of some tensors: their product with known ones, and their length.
using Digest = std::vector<double>;

/// `tolerance` is relative to lengths above 1.
inline void expect_digest(const std::vector<torch::Tensor>& tensors, const Digest& expected,
                          double tolerance) {
  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& tensor : tensors) {
    flat.push_back(tensor.detach().to(torch::kCPU, torch::kFloat64).flatten());
  }
  const torch::Tensor all = torch::cat(flat);
  const double most = tolerance * std::max(1.0, expected.at(1));
  EXPECT_NEAR(all.dot(numbers(all.numel(), 0.1)).item<double>(), expected.at(0), most);
  EXPECT_NEAR(all.norm().item<double>(), expected.at(1), most);
}

}  // namespace seam::test
