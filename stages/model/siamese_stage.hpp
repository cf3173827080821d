/// Base class of the stages of Siamese capsule networks.
///
///     model.scn ──────────┐
///     model.sdropcapnet ──┴─► SiameseStage: a variant with overrides ─► nn::SiameseCapsules
///
///     images ──► embedding, capsules
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <optional>

#include "stages/nn/siamese_capsules.hpp"

namespace seam::stages {

class SiameseStage : public ModuleStage<nn::SiameseCapsules> {
 protected:
  /// The fields, and all parameters except those that only one stage has; call it at the end of
  /// declare().
  void declare_network(Declaration& d);

  void forward(nn::SiameseCapsules& net, Packet& packet, Context& context) override;

 private:
  enum class Variant : std::uint8_t { as_published, released_default };
  enum class Nonlinearity : std::uint8_t { variant, squash, tanh, sigmoid };
  enum class Compat : std::uint8_t { none, routes_softmax };

  /// The options of the stage's concrete dropout, or nullopt if it has none.
  [[nodiscard]] virtual std::optional<nn::ConcreteDropoutOptions> concrete_dropout() const = 0;

  [[nodiscard]] nn::SiameseCapsules make() const final;

  void declare_images(Declaration& d);
  void declare_capsules(Declaration& d);
  void declare_routing(Declaration& d);
  /// The variant, overridden by the file's parameters.
  [[nodiscard]] nn::NetworkOptions options() const;

  Variant variant_ = Variant::as_published;
  nn::NetworkOptions set_ = nn::siamese_capsules_as_published();  // shared by both variants
  std::optional<std::int64_t> width_, kernel_, first_stride_, primary_kernel_, primary_stride_;
  std::optional<std::int64_t> primary_capsules_, iterations_;
  Nonlinearity nonlinearity_ = Nonlinearity::variant;
  Compat compat_ = Compat::none;
  std::int64_t dimensions_ = 20;
  bool unit_length_ = true;
};

}  // namespace seam::stages
