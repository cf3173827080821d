/// Stage `model.resnet`: a residual network with an embedding, a classifier, or both.
///
///     images ──► (embedding), (logits), (feature_map)
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stages/class_vocabulary.hpp"
#include "stages/nn/residual.hpp"

namespace seam::stages {

class Resnet final : public ModuleStage<nn::ResidualNetwork> {
 public:
  static constexpr std::string_view name = "model.resnet";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  enum class Architecture : std::uint8_t { resnet18, resnet34, resnet50 };

  [[nodiscard]] nn::ResidualNetwork make() const override;
  void forward(nn::ResidualNetwork& net, Packet& packet, Context& context) override;
  [[nodiscard]] std::vector<std::string> without_place() const override;
  /// The embedding, and logits, of images and of their mirror images, averaged.
  [[nodiscard]] nn::ResidualOutput forward_mirrored(nn::ResidualNetwork& net,
                                                    const Tensor& images) const;
  /// With what the architecture says.
  [[nodiscard]] nn::ResidualOptions options() const;

  Architecture architecture_ = Architecture::resnet18;
  std::vector<std::int64_t> blocks_;
  nn::ResidualOptions options_;
  ClassVocabulary vocabulary_;
  bool embedding_ = true;
  bool feature_map_ = false;
  bool mirrored_ = false;
};

}  // namespace seam::stages
