#include "stages/loss/triplet_loss.hpp"

namespace seam::stages {

TripletLoss triplet_loss(const torch::Tensor& anchors, const torch::Tensor& positives,
                         const torch::Tensor& negatives, double margin) {
  const torch::Tensor positive = (anchors - positives).square().sum(1);
  const torch::Tensor negative = (anchors - negatives).square().sum(1);
  const torch::Tensor hinge = (positive - negative + margin).clamp_min(0);
  TripletLoss result;
  result.loss = hinge.mean();
  result.positive_distance = positive.detach().mean();
  result.negative_distance = negative.detach().mean();
  result.active = (hinge.detach() > 0).to(torch::kFloat64).mean();
  return result;
}

}  // namespace seam::stages
