#include "stages/nn/pooling.hpp"

#include <torch/torch.h>

namespace seam::nn {

GlobalPoolingImpl::GlobalPoolingImpl(Pooling pooling) {
  if (pooling == Pooling::generalised_mean) {
    p_ = register_parameter("p", torch::full({1}, 3.0));
  }
}

torch::Tensor GlobalPoolingImpl::forward(const torch::Tensor& feature_map) const {
  const bool narrow = feature_map.scalar_type() == torch::kBFloat16;
  const torch::Tensor map = narrow ? feature_map.to(torch::kFloat32) : feature_map;
  if (!p_.defined()) return map.mean({2, 3});
  constexpr double least = 1e-6;  // the slope of x^p at 0 is that of log(0) for p
  // A p for each image: their gradients are added up in a fixed order, whatever threads there are.
  const torch::Tensor p = p_.expand({map.size(0), 1, 1, 1});
  return map.clamp_min(least).pow(p).mean({2, 3}, /*keepdim=*/true).pow(p.reciprocal()).flatten(1);
}

}  // namespace seam::nn
