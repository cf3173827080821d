/// The residual blocks before the capsules of RCCapsNet.
///
///     images [N,3,H,W]
///       conv 7x7/2  3 -> w   norm, activation, dropout
///       block       w -> 2w  dropout
///       block      2w -> 4w  dropout
///       block      4w -> c                                          [N,c,H/16,W/16]
///
///     block, of stride 2:  x ─► conv 3x3/2, norm, LeakyReLU, conv 3x3, norm ─► + ─► LeakyReLU
///                            └► conv 1x1/2, norm ────────────────────────────►─┘
///
/// The shortcut is always projected. All convolutions have biases and "SAME" padding. Kınlı,
/// "Clothing image retrieval with triplet capsule networks", 2019, and the released code.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

#include "stages/nn/feature_extractor.hpp"

namespace seam::nn {

struct ResidualFeaturesOptions {
  ConvolutionLayer stem{64, 7, 2};
  std::vector<std::int64_t> blocks = {128, 256, 512};  ///< channels; the last has no dropout
  double stem_slope = 0;                               ///< of LeakyReLU below zero; 0: ReLU
  double slope = 0.3;                                  ///< the same within blocks
  double dropout = 0.3;
};

class ResidualFeatureBlockImpl : public torch::nn::Module {
 public:
  ResidualFeatureBlockImpl(std::int64_t in, std::int64_t out);
  /// `key` and `layer` select the dropout mask, with that rate.
  torch::Tensor forward(const torch::Tensor& x, double slope, double dropout, const DropoutKey& key,
                        std::int64_t layer);

  Conv2d conv1, conv2, shortcut;
  BatchNorm2d bn1, bn2, shortcut_bn;
};
TORCH_MODULE(ResidualFeatureBlock);

/// Submodules are named "stem.c", "stem.bn", "block1.conv1", "block1.bn1", "block1.conv2",
/// "block1.bn2", "block1.shortcut", "block1.shortcut_bn", "block2.conv1" and so on.
class ResidualFeaturesImpl : public ImageFeaturesImpl {
 public:
  /// Throws seam::Error for sizes below 1 and no blocks.
  ResidualFeaturesImpl(ResidualFeaturesOptions options, std::uint64_t seed);

  using ImageFeaturesImpl::forward;
  torch::Tensor forward(const torch::Tensor& images, const DropoutKey& key) override;
  [[nodiscard]] MapSize map_size(std::int64_t height, std::int64_t width) const override;
  [[nodiscard]] std::uint64_t streams() const override { return 1 + 3 * blocks_.size(); }

 private:
  ResidualFeaturesOptions options_;
  ConvolutionBlock stem_{nullptr};
  std::vector<ResidualFeatureBlock> blocks_;
};
TORCH_MODULE(ResidualFeatures);

}  // namespace seam::nn
