/// Stage `model.spatial_group_enhance`: groups of channels, each weighted at every pixel by its
/// agreement with the group's mean.
///
///     x [N,C,H,W], in groups of C/G channels:
///       t    = <x, mean of x over the pixels>           over a group's channels, [N,G,H,W]
///       t    = (t - mean) / (deviation + 1e-5)          over the pixels, unbiased
///       gate = sigmoid(weight[g] t + bias[g])
///     ──► x * gate
///
/// Li, Hu, Yang, "Spatial Group-wise Enhance: Improving Semantic Feature Learning in Convolutional
/// Networks", 2019, with the parameters of the authors' code: one weight and one bias per group,
/// initially 0 and 1.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <seam/module.hpp>

namespace seam::nn {

class SpatialGroupEnhanceImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error if the groups do not divide the channels.
  SpatialGroupEnhanceImpl(std::int64_t channels, std::int64_t groups);
  /// Bit-identical for any number of threads. Throws seam::Error for a map with a different number
  /// of channels, and for one of a single pixel, which has no standard deviation.
  [[nodiscard]] Tensor forward(const Tensor& feature_map) const;

 private:
  std::int64_t channels_;
  std::int64_t groups_;
  Tensor weight_;  // [1,G,1,1]
  Tensor bias_;
};
TORCH_MODULE(SpatialGroupEnhance);

}  // namespace seam::nn

namespace seam::stages {

class SpatialGroupEnhance final : public ModuleStage<nn::SpatialGroupEnhance> {
 public:
  static constexpr std::string_view name = "model.spatial_group_enhance";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::SpatialGroupEnhance make() const override {
    return nn::SpatialGroupEnhance(channels_, groups_);
  }
  void forward(nn::SpatialGroupEnhance& net, Packet& packet, Context& context) override;

  std::int64_t channels_ = 0;
  std::int64_t groups_ = 64;
};

}  // namespace seam::stages
