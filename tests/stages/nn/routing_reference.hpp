/// Dynamic routing as it is defined, with the predictions of every capsule: the reference for tests
/// and benchmarks of stages/nn/routing.hpp.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "stages/nn/routing.hpp"

namespace seam::test {

/// Routes u [B,N,D] through weight [D,K*O] or [N,D,K*O] to v [B,K,O]; differentiable any number of
/// times.
inline torch::Tensor route_by_predictions(const torch::Tensor& u, const torch::Tensor& weight,
                                          std::int64_t classes, const nn::RoutingOptions& options) {
  using torch::Tensor;
  const Tensor predicted =
      weight.dim() == 3 ? torch::einsum("bnd,ndk->bnk", {u, weight}) : u.matmul(weight);
  const Tensor predictions =
      predicted.reshape({u.size(0), u.size(1), classes, -1}).permute({0, 2, 1, 3});
  const bool over_classes = options.softmax == nn::RoutingSoftmax::classes;
  Tensor logits = torch::zeros({u.size(0), classes, u.size(1)}, u.options());
  Tensor v;
  for (std::int64_t t = 0; t < options.iterations; ++t) {
    const Tensor couplings = torch::softmax(logits, over_classes ? 1 : 2);
    v = nn::squash_reference(couplings.unsqueeze(2).matmul(predictions).squeeze(2), options.squash,
                             options.epsilon);
    Tensor agreement = predictions.matmul(v.unsqueeze(-1)).squeeze(-1);
    if (options.agreement == nn::Agreement::cosine) {
      agreement = options.factor * agreement / predictions.norm(2, {3}) / v.norm(2, {2}, true);
    }
    logits = options.logits == nn::Logits::replace ? agreement : logits + agreement;
  }
  return v;
}

}  // namespace seam::test
