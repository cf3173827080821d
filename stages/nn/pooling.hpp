/// From a feature map to one vector an image.
///
///     [N,C,H,W] ─► mean, or generalised mean, over the pixels ─► [N,C]
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>

namespace seam::nn {

enum class Pooling : std::uint8_t { average, generalised_mean };

/// Over the pixels of each channel, in float32 where the map is in bfloat16:
///
///     average             mean(x)
///     generalised_mean    mean(max(x, 1e-6)^p)^(1/p), p = 3 at first and trained as "p"
///
/// The second is equation 3 of Radenović, Tolias, Chum, "Fine-tuning CNN image retrieval with no
/// human annotation", 2018, with one p for all channels.
class GlobalPoolingImpl : public torch::nn::Module {
 public:
  explicit GlobalPoolingImpl(Pooling pooling);
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& feature_map) const;

 private:
  [[nodiscard]] torch::Tensor generalised_mean(const torch::Tensor& map) const;

  torch::Tensor p_;  // undefined for the average
};
TORCH_MODULE(GlobalPooling);

}  // namespace seam::nn
