#include "stages/nn/initialisation.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include <cmath>

#include <seam/random.hpp>

namespace seam::nn {

using torch::Tensor;

Tensor glorot_uniform(const std::vector<std::int64_t>& shape, std::int64_t fan_in,
                      std::int64_t fan_out, std::uint64_t seed, std::uint64_t stream) {
  const double limit = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  Random random(seed, stream);
  Tensor wide = torch::empty(shape, torch::kFloat64);
  double* const values = wide.data_ptr<double>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) values[i] = random.uniform(-limit, limit);
  return wide.to(torch::kFloat32);
}

Tensor normal_values(const std::vector<std::int64_t>& shape, double deviation, std::uint64_t seed,
                     std::uint64_t stream) {
  Random random(seed, stream);
  Tensor wide = torch::empty(shape, torch::kFloat64);
  double* const values = wide.data_ptr<double>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) values[i] = deviation * random.normal();
  return wide.to(torch::kFloat32);
}

std::uint64_t generator_seed() {
  return at::detail::getDefaultCPUGenerator().current_seed();
}

}  // namespace seam::nn
