/// Stage `model.dense_decoder`: draws an image from one class capsule by dense layers; the others
/// are masked.
///
///     capsules [N,K,D], one kept ─► dense, ReLU ─► dense, ReLU ─► dense, sigmoid ─► [N,3,H,W]
///
/// Sabour, Frosst, Hinton, "Dynamic routing between capsules", NIPS 2017: layers of 512, 1024 and
/// 28 · 28 units.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "stages/model/base/decoder_stage.hpp"

namespace seam::nn {

struct DenseDecoderOptions {
  std::int64_t classes = 0;
  std::int64_t capsule_size = 0;
  std::vector<std::int64_t> hidden = {512, 1024};
  std::int64_t channels = 1;  ///< 1: grey, given as three equal channels; or 3
  ImageSize images;           ///< to be set
};

/// Layers are named "0", "1", ...: "0.weight" [512,160], "0.bias", ...
class DenseDecoderImpl : public torch::nn::Module {
 public:
  /// Glorot-uniform weights by `seed`. Throws seam::Error for sizes below 1 and for channels other
  /// than 1 or 3.
  DenseDecoderImpl(DenseDecoderOptions options, std::uint64_t seed);

  /// Draws images, RGB from 0 to 1, from capsules [N,K,D], of which only those of `categories`, i64
  /// [N], are kept. Throws seam::Error for categories out of range.
  Tensor forward(const Tensor& capsules, const Tensor& categories);

 private:
  DenseDecoderOptions options_;
  std::vector<Linear> layers_;
};
TORCH_MODULE(DenseDecoder);

}  // namespace seam::nn

namespace seam::stages {

class DenseDecoder final : public DecoderStage<nn::DenseDecoder, nn::DenseDecoderOptions> {
 public:
  static constexpr std::string_view name = "model.dense_decoder";

  void declare(Declaration& d) override;
};

}  // namespace seam::stages
