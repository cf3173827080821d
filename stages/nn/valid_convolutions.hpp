/// Convolutions without padding before the capsules; the last may have some.
///
///     images ─► conv k x k, (norm), activation, (dropout) ─► ... ─► conv k x k ─► [N,C,h,w]
///
/// With 9x9 of 256 channels and then 9x9 of stride 2 without normalisation it is the network of
/// Sabour, Frosst, Hinton, "Dynamic routing between capsules", NIPS 2017; with normalisation and
/// more of them, the first SCCapsNet-CLS.
#pragma once

#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

#include "stages/nn/feature_extractor.hpp"

namespace seam::nn {

/// Of the last convolution; TensorFlow's "SAME" gives ceil(size / stride).
enum class LastPadding : std::uint8_t { none, same };
enum class Normalisation : std::uint8_t { none, batch };

struct ValidConvolutionsOptions {
  std::int64_t in_channels = 3;
  std::vector<ConvolutionLayer> layers;  ///< the last is bare
  Normalisation normalisation = Normalisation::batch;
  double slope = 0;  ///< of LeakyReLU below zero; 0: ReLU
  double dropout = 0;
  LastPadding last_padding = LastPadding::none;
};

/// Names are those of FeatureExtractor: "0.c", "0.bn", "1.c", ...
class ValidConvolutionsImpl : public ImageFeaturesImpl {
 public:
  /// Throws seam::Error for no layers and sizes below 1.
  ValidConvolutionsImpl(ValidConvolutionsOptions options, std::uint64_t seed);

  using ImageFeaturesImpl::forward;
  torch::Tensor forward(const torch::Tensor& images, const DropoutKey& key) override;
  [[nodiscard]] MapSize map_size(std::int64_t height, std::int64_t width) const override;
  [[nodiscard]] std::uint64_t streams() const override { return options_.layers.size(); }

 private:
  [[nodiscard]] bool padded(std::size_t layer) const {
    return options_.last_padding == LastPadding::same && layer + 1 == options_.layers.size();
  }

  ValidConvolutionsOptions options_;
  std::vector<ConvolutionBlock> blocks_;
};
TORCH_MODULE(ValidConvolutions);

}  // namespace seam::nn
