/// The convolutions before the capsules: blocks of convolution, batch normalisation, activation and
/// spatial dropout, and a last bare convolution whose channels become the primary capsules.
///
///     images [N,3,H,W] ─► conv ─► [norm, activation, dropout] ─► conv ─► ... ─► conv ─► [N,C,h,w]
///                          │ kept                                 │ kept
///
/// Training keeps the raw outputs of the convolutions and nothing else: what stands in brackets is
/// computed again in the backward pass, while the padded copy that the convolution reads is made.
/// Sums over images and pixels are made in fixed parts and added in a fixed order, so the results
/// are the same bytes for any number of threads. The gradient of the images is not computed.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace seam::stages {

enum class Activation : std::uint8_t { relu, leaky_relu };
enum class Precision : std::uint8_t {
  float32,
  bfloat16,  ///< the convolutions' products in bfloat16, all else in float32
};

/// A convolution with "SAME" padding and bias; all but the last of an extractor are followed by
/// normalisation, activation and dropout.
struct ConvolutionLayer {
  std::int64_t out_channels = 0;
  std::int64_t kernel = 7;
  std::int64_t stride = 2;
};

struct FeatureExtractorOptions {
  std::int64_t in_channels = 3;
  std::vector<ConvolutionLayer> layers;
  Activation activation = Activation::relu;
  double slope = 0.1;           ///< below zero, of leaky_relu
  double dropout = 0.3;         ///< probability that a channel of an image is zeroed
  double norm_epsilon = 1e-3;   ///< Keras' default, which the released code uses
  double norm_momentum = 0.01;  ///< weight of the new batch; Keras writes 0.99
  Precision precision = Precision::float32;
  torch::ScalarType type = torch::kFloat32;
};

/// Which random numbers a training pass draws: two passes with any of these different drop
/// unrelated channels.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
};

/// Factors [images, channels]: 0 with probability `rate`, else 1 / (1 - rate). `layer` separates
/// the layers of one pass.
[[nodiscard]] torch::Tensor spatial_dropout(std::int64_t images, std::int64_t channels, double rate,
                                            const DropoutKey& key, std::int64_t layer,
                                            torch::ScalarType type = torch::kFloat32);

/// Glorot and Bengio's uniform initialisation, U(-r, r) with r = sqrt(6 / (fan_in + fan_out)); the
/// same numbers for the same seed and stream on any machine.
[[nodiscard]] torch::Tensor glorot_uniform(const std::vector<std::int64_t>& shape,
                                           std::int64_t fan_in, std::int64_t fan_out,
                                           std::uint64_t seed, std::uint64_t stream,
                                           torch::ScalarType type = torch::kFloat32);

class FeatureExtractor {
 public:
  using Named = std::vector<std::pair<std::string, torch::Tensor>>;

  /// Throws seam::Error for an empty layer table or sizes below 1.
  FeatureExtractor(FeatureExtractorOptions options, std::uint64_t seed, std::uint64_t stream);

  /// Batch statistics (which update the running ones) and dropout; records a graph where gradients
  /// are on. Image sizes may change from call to call.
  torch::Tensor train(const torch::Tensor& images, const DropoutKey& key);
  /// Running statistics, no dropout, no graph unless the reference form must be taken.
  [[nodiscard]] torch::Tensor evaluate(const torch::Tensor& images) const;

  /// The same in plain tensor operations: what the kernels are tested against, and what is used for
  /// other devices, bfloat16, images that need a gradient, and gradients in evaluation.
  torch::Tensor train_reference(const torch::Tensor& images, const DropoutKey& key);
  [[nodiscard]] torch::Tensor evaluate_reference(const torch::Tensor& images) const;

  /// Trained tensors: "conv1.weight" [out,in,k,k], "conv1.bias", "norm1.weight" (gamma),
  /// "norm1.bias".
  [[nodiscard]] Named weights() const;
  /// Running statistics: "norm1.running_mean", "norm1.running_var".
  [[nodiscard]] Named buffers() const;
  [[nodiscard]] const FeatureExtractorOptions& options() const { return options_; }

  struct Layer {
    torch::Tensor weight, bias;
    // Undefined for the last layer.
    torch::Tensor scale, shift, running_mean, running_variance;
    std::int64_t kernel = 0, stride = 0;
  };

 private:
  [[nodiscard]] bool kernels_cover(const torch::Tensor& images) const;
  void check(const torch::Tensor& images) const;
  torch::Tensor reference(const torch::Tensor& images, const DropoutKey* key) const;

  FeatureExtractorOptions options_;
  std::vector<Layer> layers_;
};

}  // namespace seam::stages
