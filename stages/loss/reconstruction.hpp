/// Stage `loss.reconstruction`: the error of images drawn by a decoder.
#pragma once

#include <seam/loss.hpp>

#include <cstdint>
#include <string_view>

namespace seam::stages {

/// How the squared errors of an image's values are combined.
enum class Reduction : std::uint8_t {
  mean,  ///< their mean: the thesis, and Keras' MSE
  sum,   ///< their sum: Sabour et al.
};

/// The mean over images [N,...] of the mean or the sum of squared differences.
[[nodiscard]] Tensor reconstruction_loss(const Tensor& images, const Tensor& reconstruction,
                                         Reduction reduction);

class Reconstruction final : public Loss {
 public:
  static constexpr std::string_view name = "loss.reconstruction";

  void declare(Declaration& d) override;

 private:
  Tensor compute(const Packet& packet, Context& context) override;

  Reduction reduction_ = Reduction::mean;
};

}  // namespace seam::stages
