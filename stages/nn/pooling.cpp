#include "stages/nn/pooling.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <torch/torch.h>

#include <algorithm>
#include <vector>

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
  if (!p_.defined()) return map.mean({2, 3});
  if (!map.device().is_cpu()) return generalised_mean(map, p_);
  // LibTorch's power rounds otherwise where a thread's share ends. What is this small is not
  // shared.
  constexpr std::int64_t unshared = at::internal::GRAIN_SIZE;
  const std::int64_t pixels = std::max<std::int64_t>(1, map.size(2) * map.size(3));
  const std::int64_t channels = std::clamp<std::int64_t>(unshared / pixels, 1, map.size(1));
  const std::int64_t images = std::max<std::int64_t>(1, unshared / (channels * pixels));
  std::vector<torch::Tensor> rows;
  for (const torch::Tensor& some : map.split(images)) {
    std::vector<torch::Tensor> pooled;
    for (const torch::Tensor& part : some.split(channels, 1)) {
      const auto first = static_cast<std::int64_t>(pooled.size()) * channels;
      pooled.push_back(
          generalised_mean(part, p_.size(0) == 1 ? p_ : p_.narrow(0, first, part.size(1))));
    }
    rows.push_back(pooled.size() == 1 ? pooled[0] : torch::cat(pooled, 1));
  }
  return rows.size() == 1 ? rows[0] : torch::cat(rows);
}

torch::Tensor GlobalPoolingImpl::generalised_mean(const torch::Tensor& map,
                                                  const torch::Tensor& powers) {
  constexpr double least = 1e-6;  // the slope of x^p at 0 is that of log(0) for p
  // Powers for each image: their gradients are added up in a fixed order, whatever threads there
  // are.
  const torch::Tensor p = powers.view({1, -1, 1, 1}).expand({map.size(0), -1, 1, 1});
  return map.clamp_min(least).pow(p).mean({2, 3}, /*keepdim=*/true).pow(p.reciprocal()).flatten(1);
}

}  // namespace seam::nn
