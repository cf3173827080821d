/// Stage `model.capsule_decoder`: draws images from class capsules.
///
///     capsules, predicted_category, (training: categories) ──► reconstruction
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stages/nn/capsule_decoder.hpp"

namespace seam::stages {

class CapsuleDecoder final : public ModuleStage<nn::CapsuleDecoder> {
 public:
  static constexpr std::string_view name = "model.capsule_decoder";

  void declare(Declaration& d) override;

 private:
  enum class Architecture : std::uint8_t { kernels_9, kernels_4, retrieval };

  [[nodiscard]] nn::CapsuleDecoder make() const override;
  void forward(nn::CapsuleDecoder& net, Packet& packet, Context& context) override;
  /// The architecture, overridden by the file's parameters.
  [[nodiscard]] nn::CapsuleDecoderOptions options() const;

  Architecture architecture_ = Architecture::kernels_9;
  nn::CapsuleDecoderOptions options_;
  std::optional<std::int64_t> image_height_, image_width_;
  std::vector<std::int64_t> channels_, kernels_, strides_;
};

}  // namespace seam::stages
