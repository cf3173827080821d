/// Stage `model.concat`: global descriptors and capsules side by side.
///
///     embedding, capsules ──► embedding, logits
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <string_view>

#include "stages/class_vocabulary.hpp"
#include "stages/model/capsule_module.hpp"
#include "stages/nn/concat_module.hpp"

namespace seam::stages {

class Concat final : public ModuleStage<nn::ConcatModule> {
 public:
  static constexpr std::string_view name = "model.concat";

  void declare(Declaration& d) override;
  /// Rejects capsules whose source does not match the type.
  void open(Context& context) override;

 private:
  /// The paper's architectures.
  enum class Type : std::uint8_t { a, b, c, d };

  void require_capsules_of_type(const Context& context) const;
  [[nodiscard]] bool together() const { return type_ != Type::a; }
  [[nodiscard]] nn::ConcatModuleOptions options() const;
  [[nodiscard]] nn::ConcatModule make() const override;
  void forward(nn::ConcatModule& net, Packet& packet, Context& context) override;

  Type type_ = Type::d;
  nn::ConcatModuleOptions options_;
  ClassVocabulary vocabulary_;
  Refs<MakesCapsules> capsules_from_;
};

}  // namespace seam::stages
