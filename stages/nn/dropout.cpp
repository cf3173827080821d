#include "stages/nn/dropout.hpp"

#include <torch/types.h>

#include <limits>

namespace seam::nn {

using torch::Tensor;

DropoutKey DropoutKey::drawn() {
  const Tensor bits = torch::randint(std::numeric_limits<std::int64_t>::max(), {1}, torch::kInt64);
  DropoutKey key;
  key.seed = static_cast<std::uint64_t>(bits.item<std::int64_t>());
  return key;
}

Random DropoutKey::random(std::int64_t layer) const {
  // 2^64 / golden ratio: layers' streams lie far apart.
  return {seed, stream + 0x9E3779B97F4A7C15U * static_cast<std::uint64_t>(layer + 1), epoch,
          sequence};
}

Tensor spatial_dropout(std::int64_t images, std::int64_t channels, double rate,
                       const DropoutKey& key, std::int64_t layer, torch::ScalarType type) {
  Tensor factors = torch::ones({images, channels}, type);
  if (rate <= 0) return factors;
  Random random = key.random(layer);
  Tensor wide = torch::empty({images, channels}, torch::kFloat64);
  double* const values = wide.data_ptr<double>();
  const double kept = 1 / (1 - rate);
  for (std::int64_t i = 0; i < images * channels; ++i) values[i] = random.coin(rate) ? 0.0 : kept;
  return wide.to(type);
}

}  // namespace seam::nn
