/// A decoder that draws a picture from one class capsule by dense layers: the others are masked.
///
///     capsules [N,K,D], one kept ─► dense, ReLU ─► dense, ReLU ─► dense, sigmoid ─► [N,3,H,W]
///
/// Sabour, Frosst, Hinton, "Dynamic routing between capsules", NIPS 2017: layers of 512, 1024 and
/// 28 · 28 numbers.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

#include "stages/nn/capsule_network.hpp"

namespace seam::nn {

struct DenseDecoderOptions {
  std::int64_t classes = 10;
  std::int64_t capsule_size = 16;
  std::vector<std::int64_t> hidden = {512, 1024};
  std::int64_t channels = 1;  ///< 1: grey, given as three equal channels; or 3
  ImageSize images{28, 28};
};

/// Layers are called "0", "1", ...: "0.weight" [512,160], "0.bias", ...
class DenseDecoderImpl : public torch::nn::Module {
 public:
  /// Glorot-uniform weights by `seed`. Throws seam::Error for sizes below 1 and other channels.
  DenseDecoderImpl(DenseDecoderOptions options, std::uint64_t seed);

  /// Pictures, RGB from 0 to 1, of capsules [N,K,D] of which that of `categories`, i64 [N], is
  /// kept. Throws seam::Error for categories out of range.
  torch::Tensor forward(const torch::Tensor& capsules, const torch::Tensor& categories);

 private:
  DenseDecoderOptions options_;
  std::vector<Linear> layers_;
};
TORCH_MODULE(DenseDecoder);

}  // namespace seam::nn
