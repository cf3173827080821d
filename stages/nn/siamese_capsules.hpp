/// The Siamese capsule network: face capsules, and an embedding of all their elements.
///
///     image ─► convolution ─► primary capsules ─► routing ─► face capsules [K,D]
///           ─► (concrete dropout) ─► dense [K·D -> E] ─► (unit length) ─► embedding
///
/// O'Neill, "Siamese capsule networks", 2018. Both images of a pair go through the same network, so
/// a batch of pairs is a batch of images.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>

#include "stages/nn/capsule_network.hpp"
#include "stages/nn/concrete_dropout.hpp"

namespace seam::nn {

struct SiameseCapsulesOptions {
  NetworkOptions capsules;
  std::int64_t dimensions = 20;  ///< E
  bool unit_length = true;
  std::optional<ConcreteDropoutOptions> dropout;  ///< of face capsules; their number applies to it
};

/// As described in the paper: one convolution 9x9/3 of 256 channels with dropout 0.2, 32 primary
/// capsules of size 8 per pixel, 20 face capsules of size 16 with separate weights for each primary
/// capsule, 4 iterations, tanh instead of squash for face capsules. Its three statements on the
/// number of face capsules exclude each other; 20 of 16 are the released code's.
[[nodiscard]] NetworkOptions siamese_capsules_as_published();
/// As built by the released code by default: 3x3 convolutions with mirrored borders, 16 primary
/// capsules per pixel, sigmoid instead of squash, 3 iterations, and for images of 100x100 21 x 21 x
/// 16 primary capsules. Softmax is over output capsules: its error is not a default here.
[[nodiscard]] NetworkOptions siamese_capsules_released_default();

/// The results of a pass for N images.
struct SiameseResult {
  torch::Tensor embedding;  ///< [N,E]
  torch::Tensor capsules;   ///< [N,K,D], none dropped
};

/// Submodules are named "capsules", "dense" and "dropout".
class SiameseCapsulesImpl : public torch::nn::Module {
 public:
  /// Glorot-uniform weights by `seed`. Throws seam::Error for sizes that do not fit.
  SiameseCapsulesImpl(const SiameseCapsulesOptions& options, std::uint64_t seed);

  SiameseResult forward(const torch::Tensor& images, const DropoutKey& key);

  CapsuleNetwork network{nullptr};
  Linear dense{nullptr};
  ConcreteDropout dropout{nullptr};  ///< or empty

 private:
  SiameseCapsulesOptions options_;
};
TORCH_MODULE(SiameseCapsules);

}  // namespace seam::nn
