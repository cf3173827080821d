/// Stage `model.capsules`: capsules from the feature map of any network, and an embedding of them.
///
///     feature_map [N,C,H,W]
///       primary convolution, (batch normalisation)     [N,P*d,h,w]
///       d consecutive channels of a pixel are a capsule, (squash)   u [N,h*w*P,d]
///       matrices that all capsules share, or each its own; (routing), (squash)   v [N,K,D]
///       (batch normalisation)                          class_lengths [N,K]
///       (self-attention over the K)                    capsules [N,K,D]
///       side by side, (to unit length)                 embedding [N,K*D]
///
/// With shared matrices, three iterations and the squash it is the head of SCCapsNet (Kınlı 2019).
/// With matrices of their own, batch normalisation and no routing it is linear from the primary
/// convolution to the class capsules.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <seam/module.hpp>

#include "stages/model/base/classifier_stage.hpp"
#include "stages/model/base/routed_stage.hpp"
#include "stages/model/makes_capsules.hpp"
#include "stages/nn/capsule_network.hpp"
#include "stages/nn/layers.hpp"
#include "stages/nn/routing.hpp"
#include "stages/nn/routing_statistics.hpp"
#include "stages/nn/self_attention.hpp"

namespace seam::nn {

/// The borders of the primary convolution.
enum class PrimaryPadding : std::uint8_t {
  none,  ///< only whole windows
  same,  ///< TensorFlow's "SAME": ceil(side / stride) positions
};

struct CapsulesOptions {
  std::int64_t channels = 0;          ///< C
  std::int64_t primary_capsules = 8;  ///< P
  std::int64_t capsule_size = 16;     ///< d
  std::int64_t kernel = 1;            ///< of the primary convolution
  std::int64_t stride = 1;
  PrimaryPadding padding = PrimaryPadding::none;
  bool normalise_primary = true;  ///< batch normalisation of the primary convolution's channels
  bool normalise_classes = true;  ///< batch normalisation of the class capsules' elements
  CapsuleWeights weights = CapsuleWeights::own;
  std::int64_t map_height = 14;  ///< of the feature map; with own weights no other is accepted
  std::int64_t map_width = 14;
  std::int64_t classes = 23;             ///< K
  std::int64_t class_capsule_size = 16;  ///< D
  /// Of normal routing weights; Glorot-uniform if unset.
  std::optional<double> weight_deviation;
  /// `squash` is that of primary and of class capsules.
  RoutingOptions routing = {
      .iterations = 1, .logits = Logits::accumulate, .squash = SquashForm::none};
  bool attention = false;                 ///< of class capsules to each other
  NormAxis norm_axis = NormAxis::vector;  ///< of the embedding

  /// Number of positions of the primary convolution in a map. Throws seam::Error if it is smaller
  /// than the convolution.
  [[nodiscard]] std::int64_t positions(std::int64_t height, std::int64_t width) const;
};

struct CapsulesOutput {
  torch::Tensor capsules;   ///< [N,K,D]
  torch::Tensor lengths;    ///< [N,K], before attention
  torch::Tensor embedding;  ///< [N,K*D], scaled along `norm_axis`
};

/// Parameters and submodules are named "primary", "primary_bn", "w" [d,K*D] or [h*w*P,d,K*D],
/// "class_bn" and "attention".
class CapsulesImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error for sizes that do not fit.
  CapsulesImpl(const CapsulesOptions& options, std::uint64_t seed);
  /// Each image is routed by itself, in float32 or double. Throws seam::Error for a map that does
  /// not fit.
  CapsulesOutput forward(const torch::Tensor& map);

  [[nodiscard]] RoutingProbe& probe() { return probe_; }

 private:
  /// u, before routing.
  [[nodiscard]] torch::Tensor primary_capsules(const torch::Tensor& map);

  CapsulesOptions options_;
  Conv2d primary_{nullptr};
  BatchNorm2d primary_bn_{nullptr};  // or none
  torch::Tensor weight_;
  BatchNorm2d class_bn_{nullptr};     // or none
  SelfAttention attention_{nullptr};  // or none
  RoutingProbe probe_;
};
TORCH_MODULE(Capsules);

}  // namespace seam::nn

namespace seam::stages {

class Capsules final : public RoutedStage<ClassifierStage<nn::Capsules>>, public MakesCapsules {
 public:
  static constexpr std::string_view name = "model.capsules";

  void declare(Declaration& d) override;
  [[nodiscard]] Source made_of() const override { return Source::feature_map; }

 private:
  enum class Routing : std::uint8_t { none, agreement, cosine };

  void declare_primary(Declaration& d);
  void declare_classes(Declaration& d);
  void declare_fields(Declaration& d);
  [[nodiscard]] nn::Capsules make() const override;
  void forward(nn::Capsules& net, Packet& packet, Context& context) override;

  nn::CapsulesOptions options_;
  Routing routing_ = Routing::none;
  std::int64_t iterations_ = 3;
  bool embedding_ = true;
};

}  // namespace seam::stages
