/// Stage `model.descriptors`: global descriptors of a feature map, side by side.
///
///     feature_map ──► embedding, (logits)
#pragma once

#include <seam/module.hpp>

#include <string_view>

#include "stages/class_vocabulary.hpp"
#include "stages/nn/global_descriptors.hpp"

namespace seam::stages {

class Descriptors final : public ModuleStage<nn::GlobalDescriptors> {
 public:
  static constexpr std::string_view name = "model.descriptors";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  [[nodiscard]] nn::GlobalDescriptors make() const override {
    return nn::GlobalDescriptors(options_);
  }
  void forward(nn::GlobalDescriptors& net, Packet& packet, Context& context) override;

  nn::GlobalDescriptorsOptions options_;
  ClassVocabulary vocabulary_;
};

}  // namespace seam::stages
