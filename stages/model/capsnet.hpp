/// Stage `model.capsnet`: the first capsule network with dynamic routing.
///
///     images ──► capsules, class_lengths, predicted_category, embedding
///
/// Sabour, Frosst, Hinton, "Dynamic routing between capsules", NIPS 2017. It is trained by
/// loss.margin, with a decoder (model.dense_decoder) and loss.reconstruction.
#pragma once

#include <seam/category_outputs.hpp>
#include <seam/module.hpp>

#include "stages/model/base/classifier_stage.hpp"
#include "stages/model/base/routed_stage.hpp"
#include "stages/nn/capsule_network.hpp"

namespace seam::stages {

class Capsnet final : public RoutedStage<ClassifierStage<nn::CapsuleNetwork>>,
                      public CategoryOutputs {
 public:
  static constexpr std::string_view name = "model.capsnet";

  Capsnet();
  void declare(Declaration& d) override;
  /// Rejects data sets that number categories differently: capsules are categories.
  void begin(Context& context) override;

 private:
  [[nodiscard]] nn::CapsuleNetwork make() const override;
  void forward(nn::CapsuleNetwork& net, Packet& packet, Context& context) override;

  nn::NetworkOptions options_;
  std::int64_t primary_capsules_ = 32;
};

}  // namespace seam::stages
