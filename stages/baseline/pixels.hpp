/// Stage `baseline.pixels`: the pixels of each image are its embedding; nothing is trained.
///
///     images [N,3,H,W] ──► minus the image's mean ──► unit length ──► embedding [N,3*H*W]
#pragma once

#include <seam/tensor.hpp>

namespace seam::stages {

class Pixels final : public Compute<Transform> {
 public:
  static constexpr std::string_view name = "baseline.pixels";

  void declare(Declaration& d) override;
  void process(Packet& packet, Context& context) override;

 private:
  bool centred_ = true;
  bool unit_length_ = true;
};

/// Subtracts the mean of the values, summed in double in their order.
void centre(std::span<float> values);
/// Scales the values to length 1. Zeros, which have no direction, get that of equal values, which
/// is orthogonal to all centred values.
void scale_to_unit_length(std::span<float> values);

}  // namespace seam::stages
