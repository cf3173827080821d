/// Compares a tensor with the values that another program computed.
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace seam::test {

/// `expected` is row by row; each element may differ by 1e-6.
inline void expect_near(const torch::Tensor& actual, const std::vector<double>& expected) {
  const torch::Tensor values = actual.to(torch::kCPU, torch::kFloat64).contiguous().view(-1);
  ASSERT_EQ(values.size(0), static_cast<std::int64_t>(expected.size()));
  for (std::size_t at = 0; at < expected.size(); ++at) {
    EXPECT_NEAR(values[static_cast<std::int64_t>(at)].item<double>(), expected[at], 1e-6)
        << "element " << at;
  }
}

}  // namespace seam::test
