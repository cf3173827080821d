/// Stage `model.lenet`: LeNet-5 (LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied
/// to document recognition", 1998) in its modern form, with rectifiers and max pooling, and an
/// embedding instead of its classes:
///
///     images [N,3,H,W]
///       conv1 5x5, ReLU, pool 2x2     [N,6,(H-4)/2,(W-4)/2]
///       conv2 5x5, ReLU, pool 2x2     [N,16,h,w]
///       fc1 120, ReLU, fc2 84, ReLU, embedding; to unit length      [N,E]
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "stages/model/base/embedding_stage.hpp"
#include "stages/nn/layers.hpp"

namespace seam::nn {

struct LeNetOptions {
  std::int64_t image_height = 0;                 ///< to be set: the dense layers depend on it
  std::int64_t image_width = 0;                  ///< likewise
  std::vector<std::int64_t> channels = {6, 16};  ///< of the convolutions
  std::vector<std::int64_t> hidden = {120, 84};  ///< of the dense layers
  std::int64_t dimensions = 20;
  bool unit_length = true;
};

class LeNetImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error for other than two convolutions and two dense layers, sizes below 1, and
  /// images below 16x16, whose feature map would be empty.
  explicit LeNetImpl(LeNetOptions options);
  /// Throws seam::Error for images whose size differs from that in the options.
  Tensor forward(const Tensor& images);

 private:
  LeNetOptions options_;
  Conv2d conv1_{nullptr}, conv2_{nullptr};
  Linear fc1_{nullptr}, fc2_{nullptr}, embedding_{nullptr};
};
TORCH_MODULE(LeNet);

}  // namespace seam::nn

namespace seam::stages {

class LeNet final : public EmbeddingStage<nn::LeNet, nn::LeNetOptions> {
 public:
  static constexpr std::string_view name = "model.lenet";

  void declare(Declaration& d) override;
};

}  // namespace seam::stages
