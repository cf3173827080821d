/// Stage `model.cnn_embedding`: the convolutions of SCCapsNet with a dense embedding.
///
///     images ──► embedding
#pragma once

#include <seam/module.hpp>

#include <string_view>

#include "stages/nn/convolutional_embedding.hpp"

namespace seam::stages {

class CnnEmbedding final : public ModuleStage<nn::ConvolutionalEmbedding> {
 public:
  static constexpr std::string_view name = "model.cnn_embedding";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::ConvolutionalEmbedding make() const override {
    return nn::ConvolutionalEmbedding(options_);
  }
  void forward(nn::ConvolutionalEmbedding& net, Packet& packet, Context& context) override;

  nn::ConvolutionalEmbeddingOptions options_;
};

}  // namespace seam::stages
