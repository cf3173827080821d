/// Stage `model.dense_decoder`: draws images from class capsules by dense layers.
///
///     capsules, predicted_category, (training: categories) ──► reconstruction
#pragma once

#include <seam/module.hpp>

#include <string_view>

#include "stages/nn/dense_decoder.hpp"

namespace seam::stages {

class DenseDecoder final : public ModuleStage<nn::DenseDecoder> {
 public:
  static constexpr std::string_view name = "model.dense_decoder";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::DenseDecoder make() const override;
  void forward(nn::DenseDecoder& net, Packet& packet, Context& context) override;

  nn::DenseDecoderOptions options_;
};

}  // namespace seam::stages
