/// From a feature map to one vector per image: global descriptors.
///
///     [N,C,H,W] ─► a mean, or the maximum, over the pixels ─► [N,C]
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>

namespace seam::nn {

enum class Pooling : std::uint8_t {
  average,                      ///< SPoC: Babenko, Lempitsky 2015
  generalised_mean,             ///< GeM: one p for all channels
  generalised_mean_by_channel,  ///< GeMmp: a p for each channel
  maximum,                      ///< MAC: Tolias, Sicre, Jégou 2016
  none,                         ///< all pixels side by side: [N,C*H*W]
};

/// Over the pixels of each channel, in float32 if the map is in bfloat16:
///
///     average             mean(x)
///     generalised_mean    mean(max(x, 1e-6)^p)^(1/p), p = 3 at first and trained as "p"
///     maximum             max(x)
///     none                x
///
/// The second is equation 3 of Radenović, Tolias, Chum, "Fine-tuning CNN image retrieval with no
/// human annotation", 2018.
class GlobalPoolingImpl : public torch::nn::Module {
 public:
  /// `channels` matters only to poolings with a p for each: with 1, there is one for all.
  explicit GlobalPoolingImpl(Pooling pooling, std::int64_t channels = 1);
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& feature_map) const;

 private:
  [[nodiscard]] static torch::Tensor generalised_mean(const torch::Tensor& map,
                                                      const torch::Tensor& powers);

  Pooling pooling_;
  torch::Tensor p_;  // [1] or [C]; undefined for the average and the maximum
};
TORCH_MODULE(GlobalPooling);

}  // namespace seam::nn
