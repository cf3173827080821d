/// Stage `model.cnn_embedding`: the convolutions of SCCapsNet with a dense embedding instead of
/// capsules: a baseline for the capsules.
///
///     images [N,3,H,W]
///       conv1 7x7/2   3 ->  w   norm1, ReLU, spatial dropout
///       conv2 7x7/2   w -> 2w   norm2, ReLU, spatial dropout
///       conv3 7x7/2  2w ->  w   norm3, ReLU, spatial dropout
///       conv4 7x7/2   w -> c    ReLU, pooling over the pixels       [N,c], unpooled [N,c*h*w]
///       embedding     c -> E    to unit length                      [N,E]
///
/// With w = 64, c = 460 and E = 368 it has 2,426,172 elements, and SCCapsNet 2,425,536: its last
/// convolution is narrower, to compensate for the dense layer. Padding is "SAME", as in SCCapsNet:
/// 2 before and 3 after for even sizes.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "stages/model/base/embedding_stage.hpp"
#include "stages/nn/layers.hpp"
#include "stages/nn/pooling.hpp"

namespace seam::nn {

struct ConvolutionalEmbeddingOptions {
  std::int64_t width = 64;
  std::int64_t channels = 460;  ///< of the last convolution
  std::int64_t dimensions = 368;
  double dropout = 0.3;
  Pooling pooling = Pooling::average;
  std::int64_t image_height = 0;  ///< to be set without pooling: the dense layer depends on it
  std::int64_t image_width = 0;   ///< likewise
  bool unit_length = true;

  /// c, or c*h*w without pooling. Throws seam::Error if the size that it depends on is not set.
  [[nodiscard]] std::int64_t features() const;
};

class ConvolutionalEmbeddingImpl : public torch::nn::Module {
 public:
  explicit ConvolutionalEmbeddingImpl(const ConvolutionalEmbeddingOptions& options);
  /// Without pooling, throws seam::Error for images of a different size.
  Tensor forward(const Tensor& images);

 private:
  ConvolutionalEmbeddingOptions options_;
  std::vector<Conv2d> convolutions_;
  std::vector<BatchNorm2d> norms_;  // of all convolutions except the last
  GlobalPooling pool_;
  Linear embedding_;
};
TORCH_MODULE(ConvolutionalEmbedding);

}  // namespace seam::nn

namespace seam::stages {

class CnnEmbedding final
    : public EmbeddingStage<nn::ConvolutionalEmbedding, nn::ConvolutionalEmbeddingOptions> {
 public:
  static constexpr std::string_view name = "model.cnn_embedding";

  void declare(Declaration& d) override;
};

}  // namespace seam::stages
