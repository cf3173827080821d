/// Slow forms of layers by their definitions, which tests compare with.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace seam::test {

/// A convolution of x [N,C,H,W] in double with TensorFlow's "SAME" padding, one output at a time:
/// more zeros after than before if their number is odd.
inline torch::Tensor convolution_by_loops(const torch::Tensor& x, const torch::Tensor& weight,
                                          const torch::Tensor& bias, std::int64_t stride) {
  const std::int64_t kernel = weight.size(2);
  const std::int64_t height = x.size(2);
  const std::int64_t width = x.size(3);
  const auto outputs = [&](std::int64_t size) { return (size + stride - 1) / stride; };
  const auto before = [&](std::int64_t size) {
    return std::max<std::int64_t>((outputs(size) - 1) * stride + kernel - size, 0) / 2;
  };
  torch::Tensor y = bias.detach()
                        .view({1, -1, 1, 1})
                        .expand({x.size(0), weight.size(0), outputs(height), outputs(width)})
                        .clone(torch::MemoryFormat::Contiguous);
  const auto from = x.accessor<double, 4>();
  const auto w = weight.accessor<double, 4>();
  auto to = y.accessor<double, 4>();
  for (std::int64_t n = 0; n < y.size(0); ++n) {
    for (std::int64_t o = 0; o < y.size(1); ++o) {
      for (std::int64_t i = 0; i < y.size(2); ++i) {
        for (std::int64_t j = 0; j < y.size(3); ++j) {
          for (std::int64_t c = 0; c < x.size(1); ++c) {
            for (std::int64_t ky = 0; ky < kernel; ++ky) {
              for (std::int64_t kx = 0; kx < kernel; ++kx) {
                const std::int64_t row = i * stride + ky - before(height);
                const std::int64_t column = j * stride + kx - before(width);
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                to[n][o][i][j] += from[n][c][row][column] * w[o][c][ky][kx];
              }
            }
          }
        }
      }
    }
  }
  return y;
}

/// Tokens [N,T,C] after the submodule "attention" of a network, an nn::SelfAttention.
inline torch::Tensor attended(const torch::nn::Module& net, const torch::Tensor& tokens) {
  const auto weights = net.named_parameters();
  const auto dense = [&](const std::string& part) {
    return tokens.matmul(weights["attention." + part + "_conv.weight"].flatten(1).t()) +
           weights["attention." + part + "_conv.bias"];
  };
  const torch::Tensor shares =
      torch::softmax(dense("query").matmul(dense("key").transpose(1, 2)), 2);
  return tokens + weights["attention.gamma"] * shares.matmul(dense("value"));
}

}  // namespace seam::test
