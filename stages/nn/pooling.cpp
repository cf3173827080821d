#include "stages/nn/pooling.hpp"

#include <torch/types.h>

#include "stages/nn/fixed_parts.hpp"

namespace seam::nn {

GlobalPoolingImpl::GlobalPoolingImpl(Pooling pooling, std::int64_t channels) : pooling_(pooling) {
  constexpr double usual = 3;
  if (pooling == Pooling::generalised_mean) p_ = torch::full({1}, usual);
  if (pooling == Pooling::generalised_mean_by_channel) p_ = torch::full({channels}, usual);
  if (p_.defined()) p_ = register_parameter("p", p_);
}

torch::Tensor GlobalPoolingImpl::forward(const torch::Tensor& feature_map) const {
  const bool narrow = feature_map.scalar_type() == torch::kBFloat16;
  const torch::Tensor map = narrow ? feature_map.to(torch::kFloat32) : feature_map;
  if (pooling_ == Pooling::maximum) return map.amax({2, 3});
  if (pooling_ == Pooling::none) return map.flatten(1);
  if (!p_.defined()) return map.mean({2, 3});
  // In parts, since LibTorch's power rounds differently at the end of a thread's share.
  return by_parts(map, p_, generalised_mean);
}

torch::Tensor GlobalPoolingImpl::generalised_mean(const torch::Tensor& map,
                                                  const torch::Tensor& powers) {
  constexpr double least = 1e-6;  // the slope of x^p at 0 is that of log(0) for p
  const torch::Tensor p = powers.view({1, -1, 1, 1});
  return map.clamp_min(least).pow(p).mean({2, 3}, /*keepdim=*/true).pow(p.reciprocal()).flatten(1);
}

}  // namespace seam::nn
