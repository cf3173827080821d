#include "stages/loss/pair_losses.hpp"

#include <torch/types.h>

namespace seam::stages {

using torch::Tensor;

Tensor pair_distances(const Tensor& first, const Tensor& second, PairedDistance distance,
                      double epsilon) {
  if (distance == PairedDistance::exp_manhattan) {
    return -torch::expm1(-(first - second).abs().sum(1));
  }
  const Tensor square = (first - second + epsilon).square().sum(1);
  const Tensor zero = square.detach() == 0;  // where the root's slope is infinite
  return torch::sqrt(square.masked_fill(zero, 1)).masked_fill(zero, 0);
}

Tensor contrastive_losses(const Tensor& distances, const Tensor& same,
                          const ContrastiveSettings& settings) {
  if (settings.form == ContrastiveForm::hadsell) {
    const Tensor hinge = (settings.margin - distances).clamp_min(0);
    return same * distances.square() + (1 - same) * hinge.square();
  }
  const Tensor measure =
      settings.distance == PairedDistance::euclidean ? distances.square() : distances;
  return 0.5 * same * measure + 0.5 * (1 - same) * (settings.margin - measure).clamp_min(0);
}

Tensor double_margin_losses(const Tensor& distances, const Tensor& same, double matching,
                            double non_matching) {
  const Tensor too_far = (distances - matching).clamp_min(0).square();
  const Tensor too_near = (non_matching - distances).clamp_min(0).square();
  return same * too_far + (1 - same) * too_near;
}

}  // namespace seam::stages
