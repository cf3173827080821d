/// Stage `model.capsule_module`: class capsules over global descriptors, or over a feature map.
///
///     descriptors [N,E] ── 16 elements are a capsule ─────────────┐
///                                                                 ├─► u [N,R,16]
///     feature map [N,C,h,w] ── conv 7x7/2 ── capsules, squash ────┘
///
///     u ─► dynamic routing, each capsule with its own weights ─► v [N,12,16], lengths [N,12]
///       ─► self-attention over the 12 ─► capsules [N,12,16]
///
/// Durmuş, Güdükbay, Ulusoy, "Capsule networks with global descriptors for image retrieval", 2023,
/// section 3.2. The number R of routes follows from the width: three descriptors of 2,048 are
/// 384 = 24 * 4 * 4 capsules of 16 (table 1). For a map it is the number of positions times the
/// capsules at each: a convolution 7x7 of stride 2 reduces 14x14 to 4x4 positions, and 24 capsules
/// at each are 384 again; the paper does not describe that convolution.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <seam/module.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

#include "stages/class_vocabulary.hpp"
#include "stages/nn/layers.hpp"
#include "stages/nn/routing.hpp"
#include "stages/nn/self_attention.hpp"

namespace seam::nn {

/// The source of the capsules.
enum class CapsuleInput : std::uint8_t { descriptors, feature_map };

/// Primary capsules of a feature map.
struct PrimaryCapsules {
  std::int64_t height = 14;  ///< of the map; fixed, since weights belong to positions
  std::int64_t width = 14;   ///< the same
  std::int64_t at_a_place = 24;
  std::int64_t kernel = 7;
  std::int64_t stride = 2;
};

struct CapsuleModuleOptions {
  CapsuleInput input = CapsuleInput::descriptors;
  std::int64_t width = 0;  ///< E, or C
  std::int64_t capsule_size = 16;
  std::int64_t classes = 12;
  std::int64_t class_capsule_size = 16;
  PrimaryCapsules primary;
  /// Standard deviation of the routing weights' normal distribution. If unset 1, or 0.1 for
  /// squashed primary capsules, whose elements are larger than those of descriptors: class capsules
  /// then have lengths of about 0.3 at first.
  std::optional<double> weight_deviation;
  RoutingOptions routing = {.logits = Logits::accumulate};
  bool attention = true;

  /// R. Throws seam::Error if the sizes do not give a whole number of routes.
  [[nodiscard]] std::int64_t routes() const;
};

struct CapsuleModuleOutput {
  torch::Tensor capsules;  ///< [N,K,D]
  torch::Tensor lengths;   ///< [N,K], of class capsules after routing
};

/// Parameters and submodules are named "w" [R,16,K*D], "attention" and "primary".
class CapsuleModuleImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error for sizes that do not fit.
  CapsuleModuleImpl(const CapsuleModuleOptions& options, std::uint64_t seed);
  /// Descriptors [N,E] or a map [N,C,h,w]. Each image is routed by itself, in float32 or double.
  /// Throws seam::Error for a different size.
  CapsuleModuleOutput forward(const torch::Tensor& input);

 private:
  /// u, before routing.
  [[nodiscard]] torch::Tensor capsules_of(const torch::Tensor& input);

  CapsuleModuleOptions options_;
  torch::Tensor weight_;
  Conv2d primary_{nullptr};           // of a map
  SelfAttention attention_{nullptr};  // or none
};
TORCH_MODULE(CapsuleModule);

}  // namespace seam::nn

namespace seam::stages {

/// Interface through which model.concat asks for the source of its capsules.
class MakesCapsules {
 public:
  MakesCapsules() = default;
  virtual ~MakesCapsules() = default;
  MakesCapsules(const MakesCapsules&) = delete;
  MakesCapsules& operator=(const MakesCapsules&) = delete;
  MakesCapsules(MakesCapsules&&) = delete;
  MakesCapsules& operator=(MakesCapsules&&) = delete;

  [[nodiscard]] virtual nn::CapsuleInput made_of() const = 0;
};

class CapsuleModule final : public ModuleStage<nn::CapsuleModule>, public MakesCapsules {
 public:
  static constexpr std::string_view name = "model.capsule_module";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  [[nodiscard]] nn::CapsuleInput made_of() const override { return options_.input; }

 private:
  void declare_primary(Declaration& d);
  void declare_fields(Declaration& d);
  [[nodiscard]] nn::CapsuleModule make() const override;
  void forward(nn::CapsuleModule& net, Packet& packet, Context& context) override;

  nn::CapsuleModuleOptions options_;
  ClassVocabulary vocabulary_;
};

}  // namespace seam::stages
