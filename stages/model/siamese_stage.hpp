/// What the stages of Siamese capsule networks share.
///
///     model.scn ──────────┐
///     model.sdropcapnet ──┴─► SiameseStage: parameters laid over a variant ─► nn::SiameseCapsules
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
  /// The fields, and everything but the stage's text and what it has beside; call it at the end of
  /// declare().
  void declare_network(Declaration& d);

  void forward(nn::SiameseCapsules& net, Packet& packet, Context& context) override;

 private:
  enum class Variant : std::uint8_t { as_published, released_default };
  enum class Nonlinearity : std::uint8_t { variant, squash, tanh, sigmoid };
  enum class Compat : std::uint8_t { none, routes_softmax };

  /// What the stage has beside: undefined without concrete dropout.
  [[nodiscard]] virtual std::optional<nn::ConcreteDropoutOptions> concrete_dropout() const = 0;

  [[nodiscard]] nn::SiameseCapsules make() const final;

  void declare_images(Declaration& d);
  void declare_capsules(Declaration& d);
  void declare_routing(Declaration& d);
  /// The variant, and what the file says over it.
  [[nodiscard]] nn::NetworkOptions options() const;

  Variant variant_ = Variant::as_published;
  nn::NetworkOptions set_ = nn::siamese_capsules_as_published();  // what both variants share
  std::optional<std::int64_t> width_, kernel_, first_stride_, primary_kernel_, primary_stride_;
  std::optional<std::int64_t> primary_capsules_, iterations_;
  Nonlinearity nonlinearity_ = Nonlinearity::variant;
  Compat compat_ = Compat::none;
  std::int64_t dimensions_ = 20;
  bool unit_length_ = true;
};

}  // namespace seam::stages
