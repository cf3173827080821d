/// Convolutions with mirrored borders, before the capsules of the Siamese capsule network's
/// released code (O'Neill 2018), as its default settings build it.
///
///     images ─► mirror 1 pixel, conv 3x3, dropout, activation, norm ─► ... (same size)
///            ─► conv 2x2/2 ─► conv k x k ─► [N,C,h,w]
///
/// Normalisation comes after the activation, as in that code.
#pragma once

#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

#include "stages/nn/image_features.hpp"

namespace seam::nn {

struct MirroredConvolutionsOptions {
  std::int64_t in_channels = 3;
  std::vector<std::int64_t> mirrored = {16, 32, 32};  ///< channels of the 3x3 convolutions
  ConvolutionLayer primary{128, 9, 2};
  double slope = 0;  ///< of LeakyReLU below zero; 0: ReLU
  double dropout = 0.2;
};

/// Submodules are named "0.c", "0.bn", ..., then "halve" and "primary".
class MirroredConvolutionsImpl : public ImageFeaturesImpl {
 public:
  /// Throws seam::Error for no 3x3 convolutions and sizes below 1.
  MirroredConvolutionsImpl(MirroredConvolutionsOptions options, std::uint64_t seed);

  using ImageFeaturesImpl::forward;
  torch::Tensor forward(const torch::Tensor& images, const DropoutKey& key) override;
  [[nodiscard]] MapSize map_size(std::int64_t height, std::int64_t width) const override;
  [[nodiscard]] std::uint64_t streams() const override { return options_.mirrored.size() + 2; }

 private:
  MirroredConvolutionsOptions options_;
  std::vector<Conv2d> convolutions_;
  std::vector<BatchNorm2d> norms_;
  Conv2d halve_{nullptr};
  Conv2d primary_{nullptr};
};
TORCH_MODULE(MirroredConvolutions);

}  // namespace seam::nn
