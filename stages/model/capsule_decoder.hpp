/// Stage `model.capsule_decoder`: draws an image from one class capsule; the others are masked.
///
///     capsules, predicted_category, (training: categories) ──► reconstruction
///
///     capsules [N,K,D], one kept ─► dense, ReLU ─► [N,c,h,w] ─► transposed convolution, norm,
///         LeakyReLU ─► ... ─► transposed convolution, sigmoid ─► [N,3,H,W]
///
/// Each transposed convolution multiplies height and width by its stride: its padding is "SAME", as
/// the gradient of such a convolution. The dense layer's outputs are ordered pixel by pixel, as in
/// Keras. Used by the classifiers SCCapsNet-CLS and RCCapsNet-CLS (Kınlı 2019, section 5.2.4).
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "stages/model/base/decoder_stage.hpp"

namespace seam::nn {

struct CapsuleDecoderOptions {
  std::int64_t classes = 0;
  std::int64_t capsule_size = 0;
  ImageSize images;                   ///< to be set
  std::int64_t dense_channels = 256;  ///< of the dense layer's output
  // Of the transposed convolutions; the last one has 3 channels, which are not listed.
  std::vector<std::int64_t> channels = {256, 128, 64, 32};
  std::vector<std::int64_t> kernels = {9, 9, 9, 9, 9};
  std::vector<std::int64_t> strides = {2, 2, 2, 2, 2};
  double slope = 0.3;  ///< of LeakyReLU below zero
};

/// Submodules are named "dense", "conv1", "bn1", "conv2", ...; the last convolution has no "bn".
class CapsuleDecoderImpl : public torch::nn::Module {
 public:
  /// Glorot-uniform weights by `seed`. Throws seam::Error for sizes that do not fit.
  CapsuleDecoderImpl(CapsuleDecoderOptions options, std::uint64_t seed);

  /// Draws images, RGB from 0 to 1, from capsules [N,K,D], of which only those of `categories`, i64
  /// [N], are kept. Throws seam::Error for categories out of range.
  torch::Tensor forward(const torch::Tensor& capsules, const torch::Tensor& categories);

 private:
  CapsuleDecoderOptions options_;
  std::int64_t height_ = 1;  // of the dense layer's output
  std::int64_t width_ = 1;
  Linear dense_{nullptr};
  std::vector<ConvTranspose2d> convolutions_;
  std::vector<BatchNorm2d> norms_;
};
TORCH_MODULE(CapsuleDecoder);

}  // namespace seam::nn

namespace seam::stages {

class CapsuleDecoder final : public DecoderStage<nn::CapsuleDecoder, nn::CapsuleDecoderOptions> {
 public:
  static constexpr std::string_view name = "model.capsule_decoder";

  void declare(Declaration& d) override;
};

}  // namespace seam::stages
