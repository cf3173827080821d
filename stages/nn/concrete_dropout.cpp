#include "stages/nn/concrete_dropout.hpp"

#include <torch/types.h>
#include <seam/error.hpp>

#include <cmath>

namespace seam::nn {

using torch::Tensor;

Tensor concrete_noise(std::int64_t images, std::int64_t capsules, const DropoutKey& key,
                      std::int64_t layer, torch::ScalarType type) {
  Random random = key.random(layer);
  Tensor wide = torch::empty({images, capsules}, torch::kFloat64);
  double* const values = wide.data_ptr<double>();
  for (std::int64_t i = 0; i < images * capsules; ++i) values[i] = random.uniform();
  return wide.to(type);
}

ConcreteDropoutImpl::ConcreteDropoutImpl(const ConcreteDropoutOptions& options)
    : options_(options) {
  if (options.capsules < 1 || !(options.initial > 0 && options.initial < 1) ||
      !(options.temperature > 0)) {
    throw Error(
        "concrete dropout needs at least one capsule, a probability between 0 and 1 and a "
        "temperature above 0",
        Fault::configuration);
  }
  p_logit = register_parameter(
      "p_logit", torch::full({options.capsules}, std::log(options.initial / (1 - options.initial)),
                             torch::kFloat32));
}

Tensor ConcreteDropoutImpl::forward(const Tensor& x, const Tensor& noise) {
  if (x.dim() != 3 || x.size(1) != options_.capsules) {
    throw Error("concrete dropout needs " + std::to_string(options_.capsules) + " capsules",
                Fault::internal);
  }
  if (!is_training()) return x;
  constexpr double noise_epsilon = 1e-7;  // the logarithms stay finite
  const Tensor odds = torch::log(noise + noise_epsilon) - torch::log(1 - noise + noise_epsilon);
  const Tensor kept = torch::sigmoid(-(p_logit + odds) / options_.temperature);  // 1 - z
  return x * (kept * (1 + torch::exp(p_logit))).unsqueeze(-1);  // 1 / (1 - p) = 1 + exp(logit)
}

Tensor ConcreteDropoutImpl::regulariser(const Tensor& weight, double lambda) const {
  const Tensor squares =
      weight.view({weight.size(0), options_.capsules, -1})
          .square()
          .sum(at::IntArrayRef({0, 2}));  // a list alone is ambiguous in LibTorch 1.13
  const Tensor p = torch::sigmoid(p_logit);
  const Tensor entropy = p * torch::log_sigmoid(p_logit) + (1 - p) * torch::log_sigmoid(-p_logit);
  return (lambda * squares * (1 + torch::exp(p_logit)) + entropy).sum();
}

Tensor ConcreteDropoutImpl::probabilities() const {
  return torch::sigmoid(p_logit.detach());
}

}  // namespace seam::nn
