/// The convolutions of a capsule network, from whose output capsules are cut; there are several
/// kinds.
///
///     images [N,3,H,W] ─► ImageFeatures ─► [N,C,h,w], whose channels become primary capsules
///
///       FeatureExtractor       convolutions with and without padding    (SCCapsNet, Sabour et al.)
///       ResidualFeatures       a 7x7 convolution and residual blocks    (RCCapsNet)
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

#include "stages/nn/dropout.hpp"
#include "stages/nn/layers.hpp"

namespace seam::nn {

enum class Activation : std::uint8_t { relu, leaky_relu };

/// A convolution with bias.
struct ConvolutionLayer {
  std::int64_t out_channels = 0;
  std::int64_t kernel = 7;
  std::int64_t stride = 2;
};

/// [C,h,w], of one image.
struct MapSize {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

class ImageFeaturesImpl : public torch::nn::Module {
 public:
  /// In training batch statistics and dropout, in evaluation running statistics. Throws seam::Error
  /// for images that do not fit.
  virtual torch::Tensor forward(const torch::Tensor& images, const DropoutKey& key) = 0;
  /// The same with a key from LibTorch's generator.
  torch::Tensor forward(const torch::Tensor& images);
  /// The size of the output for images of this size. Throws seam::Error if they are too small.
  [[nodiscard]] virtual MapSize map_size(std::int64_t height, std::int64_t width) const = 0;
  /// Number of random streams that the initial weights use, from 0.
  [[nodiscard]] virtual std::uint64_t streams() const = 0;
};

/// As many outputs as a stride fits into a side of an image: "SAME" padding's.
[[nodiscard]] std::int64_t same_size(std::int64_t size, std::int64_t stride);

/// Zeros around x as in TensorFlow's "SAME": more after than before if their number is odd.
[[nodiscard]] torch::Tensor same_padded(const torch::Tensor& x, std::int64_t kernel,
                                        std::int64_t stride);

/// Glorot-uniform weights, and a bias of zeros.
void initialise(Conv2d& convolution, std::uint64_t seed, std::uint64_t stream);

/// x times spatial dropout's factors and then through LeakyReLU of that slope, or ReLU for 0; in
/// place, which no backward pass notices: dropout's factors are not negative, so they may come
/// before the activation, whose gradient needs only its result.
void drop_and_activate(torch::Tensor& x, double rate, double slope, const DropoutKey& key,
                       std::int64_t layer);

/// Images [N,3,H,W] converted for a network with this many input channels: unchanged for 3, their
/// luminance (0.299 R + 0.587 G + 0.114 B; for grey images exactly their grey) for 1. Throws
/// seam::Error for other numbers, and for images that do not have 3 channels.
[[nodiscard]] torch::Tensor as_channels(const torch::Tensor& images, std::int64_t channels);

/// Throws seam::Error unless images are [N,channels,H,W] of that type and not empty.
void check_images(const torch::Tensor& images, std::int64_t channels, torch::ScalarType type);

}  // namespace seam::nn
