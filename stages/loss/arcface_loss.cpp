#include "stages/loss/arcface_loss.hpp"

#include <torch/nn/functional/loss.h>
#include <torch/nn/functional/normalization.h>
#include <torch/types.h>

#include <cmath>
#include <numbers>

#include "stages/loss/item_labels.hpp"
#include "stages/nn/layers.hpp"

namespace seam::stages {

using torch::Tensor;

ArcfaceLoss arcface_loss(const Tensor& embedding, const Tensor& centres,
                         const std::vector<std::int64_t>& labels, const ArcfaceOptions& options) {
  check_proxy_labels(labels, embedding.size(0), centres.size(0));
  const auto unit = [](const Tensor& rows) { return torch::nn::functional::normalize(rows); };
  const Tensor cosines = nn::linear(unit(embedding), unit(centres));
  const Tensor label = torch::tensor(labels, torch::kInt64).to(embedding.device()).unsqueeze(1);
  const Tensor own = cosines.gather(1, label);
  // cos(θ + m) without acos, whose slope at 1 is infinite; so is the root's at 0.
  constexpr double least = 1e-12;
  const Tensor sine = (1 - own.square()).clamp_min(least).sqrt();
  const Tensor harder = own * std::cos(options.margin) - sine * std::sin(options.margin);
  const Tensor too_far = own < std::cos(std::numbers::pi - options.margin);
  const Tensor target =
      torch::where(too_far, own - options.margin * std::sin(options.margin), harder);
  const Tensor logits = cosines.scatter(1, label, target) * options.scale;
  const Tensor plain = cosines.detach();
  return {torch::nn::functional::cross_entropy(logits, label.squeeze(1)), own.detach().mean(),
          (plain.argmax(1, true) == label).to(torch::kFloat32).mean()};
}

}  // namespace seam::stages
