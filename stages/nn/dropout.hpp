/// Dropout of whole channels with a mask that its key determines: the same on any device and for
/// any number of threads.
#pragma once

#include <torch/types.h>
#include <seam/random.hpp>

#include <cstdint>

namespace seam::nn {

/// Which random numbers a training pass draws: two passes with any of these different drop
/// unrelated channels.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;

  /// Draws a key from LibTorch's generator, like LibTorch's dropout.
  [[nodiscard]] static DropoutKey drawn();

  /// The random numbers of a layer.
  [[nodiscard]] Random random(std::int64_t layer) const;
};

/// Factors [images, channels]: 0 with probability `rate`, else 1 / (1 - rate). `layer` separates
/// the layers of one pass.
[[nodiscard]] torch::Tensor spatial_dropout(std::int64_t images, std::int64_t channels, double rate,
                                            const DropoutKey& key, std::int64_t layer,
                                            torch::ScalarType type = torch::kFloat32);

}  // namespace seam::nn
