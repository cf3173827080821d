/// SCCapsNet: the triplet capsule network for clothing retrieval with stacked convolutions.
///
///     images [N,3,256,256]
///       conv 7x7/2   3 ->  w   norm, activation, dropout
///       conv 7x7/2   w -> 2w   norm, activation, dropout
///       conv 7x7/2  2w ->  w   norm, activation, dropout
///       conv 7x7/2   w -> primary channels              [N,512,16,16]
///       16 consecutive channels of a pixel are a capsule  [N,8192,16]
///         number (y * width + x) * 32 + c
///       squash, dynamic routing with shared weights       [N,23,16]
///       each class capsule to unit length; one capsule kept by the mask -> embedding [N,368]
///
/// Kınlı, "Clothing image retrieval with triplet capsule networks", 2019, and the released code.
/// With w = 64, 512 primary channels and 23 classes it has 2,425,536 numbers, 512 of them running
/// statistics.
#pragma once

#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "stages/nn/feature_extractor.hpp"
#include "stages/nn/routing.hpp"

namespace seam::nn {

/// Over which axis of the class capsules [K,D] the length becomes one.
enum class NormAxis : std::uint8_t {
  capsule,         ///< each capsule over its D numbers: the released code
  class_capsules,  ///< each of the D numbers over the K classes: the thesis' wording
};

struct NetworkOptions {
  std::int64_t classes = 23;
  std::int64_t width = 64;               ///< channels of the first convolution
  std::int64_t primary_channels = 512;   ///< of the last; a multiple of capsule_size
  std::int64_t capsule_size = 16;        ///< D of primary capsules
  std::int64_t class_capsule_size = 16;  ///< D of class capsules
  Activation activation = Activation::relu;
  double slope = 0.1;
  double dropout = 0.3;
  RoutingOptions routing;
  NormAxis norm_axis = NormAxis::capsule;
};

/// What the thesis says: LeakyReLU of slope 0.1, logits accumulated.
[[nodiscard]] NetworkOptions sccapsnet_as_published(NetworkOptions options = {});
/// What the released code does: ReLU, logits replaced.
[[nodiscard]] NetworkOptions sccapsnet_as_released(NetworkOptions options = {});

/// What a pass gives for N images.
struct ClassCapsules {
  torch::Tensor capsules;   ///< [N,K,D], normalised
  torch::Tensor lengths;    ///< [N,K], before normalising
  torch::Tensor predicted;  ///< i64 [N], the longest capsule's class
};

/// [N,C,h,w] -> [N, h*w*C/size, size]: `size` consecutive channels of a pixel are a capsule. Throws
/// seam::Error unless C is a multiple of size.
[[nodiscard]] torch::Tensor group_capsules(const torch::Tensor& features, std::int64_t size);

/// v / |v| along the axis, with |v|² kept above 1e-12 as in the released code (whose addition of
/// 1e-7 to every element afterwards is left out: it changes no distance visibly).
[[nodiscard]] torch::Tensor normalise_capsules(const torch::Tensor& v, NormAxis axis);

/// |v| of capsules [N,K,D], with a gradient, which is 0 where the length is.
[[nodiscard]] torch::Tensor capsule_lengths(const torch::Tensor& v);

/// The embedding [N,K*D] in which only the capsule of each image's category is kept; an undefined
/// `categories` keeps all. Throws seam::Error for categories [N] out of range.
[[nodiscard]] torch::Tensor mask_capsules(const torch::Tensor& capsules,
                                          const torch::Tensor& categories = {});

/// Parts are called as in the network's port to PyTorch: the extractor "f", whose blocks are "f.0",
/// "f.1", ..., and the matrix that all primary capsules share, "w" [D,K*O].
class CapsuleNetworkImpl : public torch::nn::Module {
 public:
  /// Glorot-uniform weights by `seed`. Throws seam::Error for sizes that do not fit.
  CapsuleNetworkImpl(const NetworkOptions& options, std::uint64_t seed);
  /// Weights by LibTorch's generator.
  explicit CapsuleNetworkImpl(const NetworkOptions& options = {});

  /// One call is one tower: in training its batch statistics are its own. Dropout's key is drawn
  /// from LibTorch's generator where none is given.
  ClassCapsules forward(const torch::Tensor& images);
  ClassCapsules forward(const torch::Tensor& images, const DropoutKey& key);
  /// One tower for each value of `tower_of_row` (0 .. towers-1), each with its own batch
  /// statistics, in that order; rows of the result are in the images' order.
  ClassCapsules forward_towers(const torch::Tensor& images,
                               const std::vector<std::int64_t>& tower_of_row,
                               const DropoutKey& key);

  [[nodiscard]] const NetworkOptions& options() const { return options_; }

  FeatureExtractor extractor{nullptr};
  torch::Tensor routing_weight;  // [D, K*O]

 private:
  [[nodiscard]] ClassCapsules head(const torch::Tensor& features) const;

  NetworkOptions options_;
};
TORCH_MODULE(CapsuleNetwork);

}  // namespace seam::nn
