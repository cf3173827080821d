/// The Siamese capsule network, and the base class of its stages.
///
///     model.scn ──────────┐
///     model.sdropcapnet ──┴─► SiameseStage ─► nn::SiameseCapsules
///
///     image ─► convolution ─► primary capsules ─► routing ─► face capsules [K,D]
///           ─► (concrete dropout) ─► dense [K·D -> E] ─► (unit length) ─► embedding [E]
///
/// O'Neill, "Siamese capsule networks", 2018. Both images of a pair go through the same network, so
/// a batch of pairs is a batch of images.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <seam/module.hpp>

#include "stages/model/base/routed_stage.hpp"
#include "stages/nn/capsule_network.hpp"
#include "stages/nn/concrete_dropout.hpp"

namespace seam::nn {

struct SiameseCapsulesOptions {
  NetworkOptions capsules;
  std::int64_t dimensions = 20;  ///< E
  bool unit_length = true;
  std::optional<ConcreteDropoutOptions> dropout;  ///< of face capsules; their number applies to it
};

/// The results of a pass for N images.
struct SiameseResult {
  torch::Tensor embedding;  ///< [N,E]
  torch::Tensor capsules;   ///< [N,K,D], none dropped
};

/// Submodules are named "capsules", "dense" and "dropout".
class SiameseCapsulesImpl : public torch::nn::Module {
 public:
  /// Glorot-uniform weights by `seed`. Throws seam::Error for sizes that do not fit.
  SiameseCapsulesImpl(const SiameseCapsulesOptions& options, std::uint64_t seed);

  SiameseResult forward(const torch::Tensor& images, const DropoutKey& key);
  [[nodiscard]] RoutingProbe& probe() { return network->probe(); }

  CapsuleNetwork network{nullptr};
  Linear dense{nullptr};
  ConcreteDropout dropout{nullptr};  ///< or empty

 private:
  SiameseCapsulesOptions options_;
};
TORCH_MODULE(SiameseCapsules);

}  // namespace seam::nn

namespace seam::stages {

class SiameseStage : public RoutedStage<ModuleStage<nn::SiameseCapsules>> {
 protected:
  /// The fields, and all parameters except those that only one stage has; call it at the end of
  /// declare().
  void declare_network(Declaration& d);

  void forward(nn::SiameseCapsules& net, Packet& packet, Context& context) override;

 private:
  /// The options of the stage's concrete dropout, or nullopt if it has none.
  [[nodiscard]] virtual std::optional<nn::ConcreteDropoutOptions> concrete_dropout() const = 0;

  [[nodiscard]] nn::SiameseCapsules make() const final;

  void declare_capsules(Declaration& d);

  nn::NetworkOptions options_ = nn::siamese_capsules();  // except for primary_channels
  std::int64_t primary_capsules_ = 32;                   // at each position
  std::int64_t dimensions_ = 20;
  bool unit_length_ = true;
};

}  // namespace seam::stages
