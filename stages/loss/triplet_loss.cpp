#include "stages/loss/triplet_loss.hpp"

#include <torch/types.h>

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

CosineTripletLoss cosine_triplet_loss(const torch::Tensor& anchors, const torch::Tensor& positives,
                                      const torch::Tensor& negatives) {
  const auto unit = [](const torch::Tensor& x) {
    constexpr double shortest = 1e-16;  // squared
    return x * torch::rsqrt(x.square().sum(1, true).clamp_min(shortest));
  };
  const torch::Tensor anchor = unit(anchors);
  const torch::Tensor positive = (anchor * unit(positives)).sum(1);
  const torch::Tensor negative = (anchor * unit(negatives)).sum(1);
  CosineTripletLoss result;
  result.loss = torch::softplus(negative - positive).mean();
  result.positive_cosine = positive.detach().mean();
  result.negative_cosine = negative.detach().mean();
  return result;
}

}  // namespace seam::stages
