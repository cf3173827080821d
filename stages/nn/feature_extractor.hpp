/// The convolutions before the capsules: blocks of convolution, batch normalisation, activation and
/// spatial dropout, and a last bare convolution whose channels become the primary capsules.
///
///     images [N,3,H,W] ─► conv ─► norm, activation, dropout ─► conv ─► ... ─► conv ─► [N,C,h,w]
///
/// With 7x7 convolutions of stride 2 it is that of SCCapsNet. Without padding and normalisation,
/// 9x9 and then 9x9 of stride 2, it is that of Sabour, Frosst, Hinton, "Dynamic routing between
/// capsules", NIPS 2017; with normalisation and more of them, that of the first SCCapsNet-CLS.
///
/// On a CPU in float32 and float64, padded and normalised convolutions are computed by our own
/// kernels (extractor_pass.hpp); otherwise, such as on a GPU, under autocast or with some blocks
/// frozen, layer by layer (layers.hpp). Both are bit-identical for any number of threads.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "stages/nn/extractor_pass.hpp"
#include "stages/nn/image_features.hpp"

namespace seam::nn {

/// Which convolutions have zeros around their input: TensorFlow's "SAME", which gives
/// ceil(size / stride).
enum class Padding : std::uint8_t { all, last, none };
enum class Normalisation : std::uint8_t { none, batch };

struct FeatureExtractorOptions {
  std::int64_t in_channels = 3;
  std::vector<ConvolutionLayer> layers;  ///< all except the last with norm, activation and dropout
  Padding padding = Padding::all;
  Normalisation normalisation = Normalisation::batch;
  double slope = 0;      ///< of LeakyReLU below zero; 0: ReLU
  double dropout = 0.3;  ///< probability that a channel of an image is zeroed
};

/// One convolution, "c", and its normalisation, "bn", which a bare block lacks.
class ConvolutionBlockImpl : public torch::nn::Module {
 public:
  ConvolutionBlockImpl(std::int64_t in_channels, const ConvolutionLayer& layer, bool bare);

  Conv2d convolution{nullptr};
  BatchNorm2d norm{nullptr};
};
TORCH_MODULE(ConvolutionBlock);

/// Blocks "0", "1", ...: weights are named "0.c.weight" [out,in,k,k], "0.c.bias", "0.bn.weight" and
/// so on, with batch normalisation's usual buffers.
class FeatureExtractorImpl : public ImageFeaturesImpl {
 public:
  /// Glorot-uniform weights by `seed`, the convolution's number being the stream. Throws
  /// seam::Error for an empty layer table or sizes below 1.
  FeatureExtractorImpl(FeatureExtractorOptions options, std::uint64_t seed);

  /// In training batch statistics (which update the running ones) and dropout, whose key is drawn
  /// from LibTorch's generator; in evaluation running statistics. Image sizes may change from call
  /// to call.
  using ImageFeaturesImpl::forward;
  torch::Tensor forward(const torch::Tensor& images, const DropoutKey& key) override;
  [[nodiscard]] MapSize map_size(std::int64_t height, std::int64_t width) const override;
  [[nodiscard]] std::uint64_t streams() const override { return options_.layers.size(); }

  /// The same layer by layer, for any device and type.
  torch::Tensor forward_plain(const torch::Tensor& images, const DropoutKey& key);

 private:
  [[nodiscard]] bool padded(std::size_t layer) const;
  [[nodiscard]] bool kernels_cover(const torch::Tensor& images) const;
  /// Whether all blocks are in training mode, or none.
  [[nodiscard]] bool every_block_is(bool training) const;
  [[nodiscard]] std::vector<PassLayer> pass_layers() const;
  [[nodiscard]] torch::Tensor train_with_kernels(const torch::Tensor& images,
                                                 const DropoutKey& key) const;

  FeatureExtractorOptions options_;
  std::vector<ConvolutionBlock> blocks_;
};
TORCH_MODULE(FeatureExtractor);

}  // namespace seam::nn
