/// Stage `model.alexnet`: AlexNet in the form that torchvision publishes weights for, with its
/// names: Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014; with
/// an embedding instead of its last layer.
///
///     images [N,3,H,W]
///       features    conv 11/4, pool, conv 5, pool, conv 3, conv 3, conv 3, pool
///                   average pooling to 6x6
///       classifier  dropout, dense, dropout, dense                       [N,4096]
///       embedding   dense; to unit length                                [N,E]
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>

#include "stages/model/base/embedding_stage.hpp"
#include "stages/nn/layers.hpp"

namespace seam::nn {

struct AlexNetOptions {
  std::vector<std::int64_t> channels = {64, 192, 384, 256, 256};  ///< of the convolutions
  std::int64_t hidden = 4096;                                     ///< of both dense layers
  double dropout = 0.5;
  std::int64_t dimensions = 20;
  bool unit_length = true;
};

class AlexNetImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error for other than five convolutions and sizes below 1.
  explicit AlexNetImpl(AlexNetOptions options);
  /// Throws seam::Error for images below 63x63, whose feature map would be empty.
  Tensor forward(const Tensor& images);

 private:
  Tensor dense(Tensor x);

  AlexNetOptions options_;
  torch::nn::Sequential features_;
  torch::nn::Sequential classifier_;
  Linear embedding_{nullptr};
};
TORCH_MODULE(AlexNet);

}  // namespace seam::nn

namespace seam::stages {

class AlexNet final : public EmbeddingStage<nn::AlexNet, nn::AlexNetOptions> {
 public:
  static constexpr std::string_view name = "model.alexnet";

  void declare(Declaration& d) override;

 private:
  /// torchvision's classifier of 1,000 classes.
  [[nodiscard]] std::vector<std::string> without_place() const override {
    return {"classifier.6.*"};
  }
};

}  // namespace seam::stages
