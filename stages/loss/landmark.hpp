/// Stage `loss.landmark`: how far predicted landmarks are from the true ones.
#pragma once

#include <seam/loss.hpp>

#include <string_view>

namespace seam::stages {

/// The mean over images of the sum over visible landmarks of the squared distance. `predicted` and
/// `places` are [N,L,2], `visible` is bool [N,L].
[[nodiscard]] Tensor landmark_loss(const Tensor& predicted, const Tensor& places,
                                   const Tensor& visible);

/// Positions in pixels as fractions of the sides: the centre of the first of 10 pixels is at 0.05.
[[nodiscard]] Tensor shares_of(const Tensor& pixels, std::int64_t height, std::int64_t width);

class Landmark final : public Loss {
 public:
  static constexpr std::string_view name = "loss.landmark";

  void declare(Declaration& d) override;

 private:
  Tensor compute(const Packet& packet, Context& context) override;
};

}  // namespace seam::stages
