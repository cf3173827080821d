/// Stage `model.capsule_module`: class capsules over global descriptors, or over a feature map.
///
///     embedding, or feature_map ──► capsules, class_lengths
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <string_view>

#include "stages/class_vocabulary.hpp"
#include "stages/nn/capsule_module.hpp"

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
  enum class Compat : std::uint8_t { none, routes_softmax };

  void declare_primary(Declaration& d);
  void declare_fields(Declaration& d);
  [[nodiscard]] nn::CapsuleModule make() const override;
  void forward(nn::CapsuleModule& net, Packet& packet, Context& context) override;

  nn::CapsuleModuleOptions options_;
  ClassVocabulary vocabulary_;
  Compat compat_ = Compat::none;
};

}  // namespace seam::stages
