/// Stage `model.capsule_module`: class capsules over global descriptors.
///
///     descriptors [N,E] ── 16 elements are a capsule ──► u [N,R,16]
///       ─► dynamic routing, each capsule with its own weights ─► v [N,12,16], lengths [N,12]
///       ─► self-attention over the 12 ─► capsules [N,12,16]
///
/// Durmuş, Güdükbay, Ulusoy, "Capsule networks with global descriptors for image retrieval", 2023,
/// section 3.2. The number R of routes follows from the width: three descriptors of 2,048 are
/// 384 = 24 * 4 * 4 capsules of 16 (table 1). model.capsules makes class capsules of a feature map.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <seam/module.hpp>

#include "stages/model/base/classifier_stage.hpp"
#include "stages/model/base/routed_stage.hpp"
#include "stages/model/makes_capsules.hpp"
#include "stages/nn/routing.hpp"
#include "stages/nn/routing_statistics.hpp"
#include "stages/nn/self_attention.hpp"

namespace seam::nn {

struct CapsuleModuleOptions {
  std::int64_t width = 0;  ///< E
  std::int64_t capsule_size = 16;
  std::int64_t classes = 12;
  std::int64_t class_capsule_size = 16;
  std::optional<double> weight_deviation;  ///< of normal routing weights; 1 if unset
  RoutingOptions routing = {.logits = Logits::accumulate};
  bool attention = true;

  /// R. Throws seam::Error if the sizes do not give a whole number of routes.
  [[nodiscard]] std::int64_t routes() const;
};

struct CapsuleModuleOutput {
  torch::Tensor capsules;  ///< [N,K,D]
  torch::Tensor lengths;   ///< [N,K], of class capsules after routing
};

/// Parameters and submodules are named "w" [R,16,K*D] and "attention".
class CapsuleModuleImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error for sizes that do not fit.
  CapsuleModuleImpl(const CapsuleModuleOptions& options, std::uint64_t seed);
  /// Descriptors [N,E]. Each image is routed by itself, in float32 or double. Throws seam::Error
  /// for a different size.
  CapsuleModuleOutput forward(const torch::Tensor& descriptors);

  [[nodiscard]] RoutingProbe& probe() { return probe_; }

 private:
  CapsuleModuleOptions options_;
  torch::Tensor weight_;
  SelfAttention attention_{nullptr};  // or none
  RoutingProbe probe_;
};
TORCH_MODULE(CapsuleModule);

}  // namespace seam::nn

namespace seam::stages {

class CapsuleModule final : public RoutedStage<ClassifierStage<nn::CapsuleModule>>,
                            public MakesCapsules {
 public:
  static constexpr std::string_view name = "model.capsule_module";

  void declare(Declaration& d) override;
  [[nodiscard]] Source made_of() const override { return Source::descriptors; }

 private:
  [[nodiscard]] nn::CapsuleModule make() const override;
  void forward(nn::CapsuleModule& net, Packet& packet, Context& context) override;

  nn::CapsuleModuleOptions options_;
};

}  // namespace seam::stages
