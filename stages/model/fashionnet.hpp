/// Stage `model.fashionnet`: FashionNet, the baseline of the theses on DeepFashion: Liu, Luo, Qiu,
/// Wang, Tang, "DeepFashion: Powering robust clothes recognition and retrieval with rich
/// annotations", CVPR 2016.
///
///     images ─► features: VGG-16's conv1 to conv4 ──┬─► pool4 ─► conv5_pose ─► fc6_pose, fc7_pose
///                                                   │              ─► landmarks, visibility ─┐
///                                                   ├─► landmark pooling ◄───────────────────┘
///                                                   │     ─► fc6_local ────┐
///                                                   └─► pool4 ─► conv5_global ─► fc6_global ─┤
///                           category ◄─┐                                                     │
///                         attributes ◄─┴─ ReLU, dropout ◄──┬── fc7_fusion ◄──────────────────┘
///                          embedding ◄── to unit length ◄──┘
///
/// `features` has torchvision's names (features.0 is conv1_1), those of vgg16 or, with batch
/// normalisation, of vgg16_bn.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stages/model/base/classifier_stage.hpp"
#include "stages/nn/landmark_pooling.hpp"
#include "stages/nn/layers.hpp"

namespace seam::nn {

struct FashionNetOptions {
  std::vector<std::int64_t> channels = {64, 128, 256, 512, 512};  ///< of conv1 to conv5
  bool batch_norm = false;
  std::int64_t image_height = 224;
  std::int64_t image_width = 224;
  LandmarkRegion region;
  std::int64_t pose_features = 1024;    ///< of fc6_pose and fc7_pose
  std::int64_t local_features = 1024;   ///< of fc6_local
  std::int64_t global_features = 4096;  ///< of fc6_global
  std::int64_t fusion_features = 4096;  ///< of fc7_fusion
  double dropout = 0.5;
  bool unit_length = true;      ///< of the embedding
  std::int64_t classes = 23;    ///< 0: no category
  std::int64_t attributes = 0;  ///< 0: none
};

struct FashionNetOutput {
  Tensor embedding;          ///< [N,fusion_features]
  Tensor landmarks;          ///< [N,8,2], fractions of width and height
  Tensor visibility_logits;  ///< [N,8,4]
  Tensor category_logits;    ///< [N,classes], undefined without
  Tensor attribute_logits;   ///< [N,attributes], undefined without
};

class FashionNetImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t landmarks = 8;
  static constexpr std::int64_t states = 4;  ///< the first one is visible

  /// Throws seam::Error unless there are five numbers of channels and images are of 32 pixels or
  /// more.
  explicit FashionNetImpl(FashionNetOptions options);
  /// Throws seam::Error for images of a different size.
  FashionNetOutput forward(const Tensor& images);

 private:
  [[nodiscard]] Tensor dropped(const Tensor& x) const;
  void make_layers();
  void initialise();

  FashionNetOptions options_;
  torch::nn::Sequential features_{nullptr}, conv5_pose_{nullptr}, conv5_global_{nullptr};
  Linear fc6_pose_{nullptr}, fc7_pose_{nullptr}, fc6_local_{nullptr}, fc6_global_{nullptr};
  Linear fc7_fusion_{nullptr};
  Linear landmarks_{nullptr}, visibility_{nullptr}, category_{nullptr}, attributes_{nullptr};
};
TORCH_MODULE(FashionNet);

}  // namespace seam::nn

namespace seam::stages {

class FashionNet final : public ClassifierStage<nn::FashionNet> {
 public:
  static constexpr std::string_view name = "model.fashionnet";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::FashionNet make() const override { return nn::FashionNet(options_); }
  void forward(nn::FashionNet& net, Packet& packet, Context& context) override;
  /// VGG-16's.
  [[nodiscard]] std::vector<std::string> without_place() const override { return {"classifier.*"}; }

  nn::FashionNetOptions options_;
};

}  // namespace seam::stages
