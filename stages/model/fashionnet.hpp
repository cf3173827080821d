/// Stage `model.fashionnet`: FashionNet, the baseline of the theses on DeepFashion.
///
///     images ──► embedding, predicted_landmarks, visibility_logits, (logits), (attribute_logits)
#pragma once

#include <seam/module.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "stages/class_vocabulary.hpp"
#include "stages/nn/fashion_net.hpp"

namespace seam::stages {

class FashionNet final : public ModuleStage<nn::FashionNet> {
 public:
  static constexpr std::string_view name = "model.fashionnet";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  [[nodiscard]] nn::FashionNet make() const override;
  void forward(nn::FashionNet& net, Packet& packet, Context& context) override;
  [[nodiscard]] std::vector<std::string> without_place() const override;

  nn::FashionNetOptions options_;
  ClassVocabulary vocabulary_;
};

}  // namespace seam::stages
