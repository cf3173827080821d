/// Capsule networks: features of several kinds, followed by the same capsules.
///
///     images [N,3,256,256]
///       features: SCCapsNet's, RCCapsNet's or others (image_features.hpp)    [N,512,16,16]
///       16 consecutive channels of a pixel are a capsule  [N,8192,16]
///         number (y * width + x) * 32 + c
///       squash, dynamic routing with shared weights, or each with its own      [N,23,16]
///       each class capsule to unit length; one capsule kept by the mask -> embedding [N,368]
///
///     stacked_convolutional   conv 7x7/2 of w, 2w and w channels with norm, activation, dropout,
///                             conv 7x7/2                                        SCCapsNet
///     residual                conv 7x7/2 of w channels, residual blocks of 2w, 4w   RCCapsNet
///     one_convolution         conv 9x9 of w channels, conv 9x9/2 without padding    Sabour et al.
///     stacked_valid           conv 9x9 of w, conv 9x9/2 of 2w, 4w and 4w channels with norm and
///                             activation, without padding, conv 9x9/2 with or without
///                                                                               SCCapsNet-CLS
///
/// and all end in `primary_channels`. Kınlı, "Clothing image retrieval with triplet capsule
/// networks", 2019, and the released code. With w = 64, 512 primary channels and 23 classes
/// SCCapsNet has 2,425,536 elements, including 512 running statistics, and RCCapsNet 4,845,952,
/// including 5,504.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "stages/nn/image_features.hpp"
#include "stages/nn/routing.hpp"
#include "stages/nn/routing_statistics.hpp"

namespace seam::nn {

/// The axis of the class capsules [K,D] along which they are scaled to unit length.
enum class NormAxis : std::uint8_t {
  capsule,         ///< each capsule over its D elements: the released code
  class_capsules,  ///< each of the D elements over the K classes: the thesis' wording
  vector,          ///< all elements of all capsules together
  none,            ///< the output of routing
};

enum class FeatureKind : std::uint8_t {
  stacked_convolutional,
  residual,
  one_convolution,
  stacked_valid,
};

/// Which capsules share the matrices that predict class capsules.
enum class CapsuleWeights : std::uint8_t {
  shared,  ///< one for all primary capsules: images of any size
  own,     ///< one for each of them: images of one size
};

/// How Glorot's fans are computed if each primary capsule has its own D x K·O matrix; a shared one
/// is a dense layer.
enum class GlorotFans : std::uint8_t {
  matrix,  ///< D inputs and K·O outputs: a dense layer's
  tensor,  ///< Keras' for the tensor [K,N,O,D] of all: K·N times D and O, so a far smaller range
};

/// Of the last of the convolutions without padding; TensorFlow's "SAME" gives ceil(size / stride).
enum class LastPadding : std::uint8_t { none, same };

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// Throws seam::Error (configuration) if the size is not set.
void require_image_size(const ImageSize& images);

/// Of one_convolution: side and stride of its two convolutions.
struct TwoConvolutions {
  std::int64_t kernel = 9;
  std::int64_t primary_kernel = 9;
  std::int64_t primary_stride = 2;
};

struct NetworkOptions {
  FeatureKind features = FeatureKind::stacked_convolutional;
  std::int64_t classes = 23;
  std::int64_t width = 64;                   ///< channels of the first convolution
  std::int64_t primary_channels = 512;       ///< of the last; a multiple of capsule_size
  std::int64_t capsule_size = 16;            ///< D of primary capsules
  std::int64_t class_capsule_size = 16;      ///< D of class capsules
  std::optional<std::int64_t> first_stride;  ///< 2 with padding and 1 without if unset
  TwoConvolutions convolutions;
  LastPadding last_padding = LastPadding::none;  ///< of stacked_valid
  std::int64_t channels = 3;                     ///< 1: of the images' luminance; one_convolution
  Activation activation = Activation::relu;
  double slope = 0.1;           ///< of leaky_relu
  double residual_slope = 0.3;  ///< of LeakyReLU within residual blocks; 0: ReLU
  double dropout = 0.3;
  CapsuleWeights weights = CapsuleWeights::shared;
  ImageSize images;  ///< only with own weights, and then to be set: the only size
  /// Of normal routing weights. If unset they are Glorot-uniform, or with the softmax of some ports
  /// as in these: normal with a deviation of 1.
  std::optional<double> weight_deviation;
  GlorotFans glorot_fans = GlorotFans::matrix;
  RoutingOptions routing;
  std::optional<SquashForm> primary_squash;  ///< of primary capsules; routing's if unset
  NormAxis norm_axis = NormAxis::capsule;
};

/// As in the thesis: LeakyReLU of slope 0.1 everywhere, logits accumulated.
[[nodiscard]] NetworkOptions sccapsnet_as_published(NetworkOptions options = {});
[[nodiscard]] NetworkOptions rccapsnet_as_published(NetworkOptions options = {});
/// As in the released code: ReLU, and LeakyReLU of slope 0.3 in residual blocks; logits replaced.
[[nodiscard]] NetworkOptions sccapsnet_as_released(NetworkOptions options = {});
[[nodiscard]] NetworkOptions rccapsnet_as_released(NetworkOptions options = {});

/// The classifiers of the thesis: the same features, primary capsules of size 8, 46 categories.
[[nodiscard]] NetworkOptions sccapsnet_cls_as_published();
[[nodiscard]] NetworkOptions rccapsnet_cls_as_published();
/// The classifiers of the released code: primary capsules of size 16, LeakyReLU of slope 0.3, no
/// dropout, class capsules that are not normalised; the stacked one has 9x9 convolutions, of which
/// only the last is padded, for images of 224x224, and separate weights for each primary capsule.
[[nodiscard]] NetworkOptions sccapsnet_cls_as_released();
[[nodiscard]] NetworkOptions rccapsnet_cls_as_released();

/// The Siamese network as described in the paper (O'Neill 2018): one convolution 9x9/3 of 256
/// channels with dropout 0.2, 32 primary capsules of size 8 per pixel, 20 face capsules of size 16
/// with separate weights for each primary capsule, 4 iterations, tanh instead of squash for face
/// capsules. Its three statements on the number of face capsules exclude each other; 20 of 16 are
/// the released code's.
[[nodiscard]] NetworkOptions siamese_capsules();

/// The features of these options, with Glorot-uniform weights by `seed`. Throws seam::Error for
/// sizes that do not fit.
[[nodiscard]] std::shared_ptr<ImageFeaturesImpl> image_features(const NetworkOptions& options,
                                                                std::uint64_t seed);

/// Returns the minimum side of images, for which one primary capsule remains.
[[nodiscard]] std::int64_t least_side(const NetworkOptions& options);

/// The results of a pass for N images.
struct ClassCapsules {
  torch::Tensor capsules;   ///< [N,K,D], normalised
  torch::Tensor lengths;    ///< [N,K], before normalising
  torch::Tensor predicted;  ///< i64 [N], the longest capsule's class
};

/// [N,C,h,w] -> [N, h*w*C/size, size]: `size` consecutive channels of a pixel are a capsule. Throws
/// seam::Error unless C is a multiple of size.
[[nodiscard]] torch::Tensor group_capsules(const torch::Tensor& features, std::int64_t size);

/// v / |v| along the axis or axes, with |v|² kept above 1e-12 as in the released code (whose
/// addition of 1e-7 to every element afterwards is left out: it changes no distance visibly).
[[nodiscard]] torch::Tensor normalise_capsules(const torch::Tensor& v, NormAxis axis);

/// |v| of capsules [N,K,D], with a gradient, which is 0 for a length of 0.
[[nodiscard]] torch::Tensor capsule_lengths(const torch::Tensor& v);

/// The embedding [N,K*D] in which only the capsule of each image's category is kept; an undefined
/// `categories` keeps all. Throws seam::Error for categories [N] out of range.
[[nodiscard]] torch::Tensor mask_capsules(const torch::Tensor& capsules,
                                          const torch::Tensor& categories = {});

/// Names are those of the network's port to PyTorch: the features "f", whose blocks are "f.0",
/// "f.1", ..., and the matrix that all primary capsules share, "w" [D,K*O], or [N,D,K*O] if each
/// has its own.
class CapsuleNetworkImpl : public torch::nn::Module {
 public:
  /// Glorot-uniform weights by `seed`. Throws seam::Error for sizes that do not fit.
  CapsuleNetworkImpl(const NetworkOptions& options, std::uint64_t seed);

  /// One call is one tower: in training its batch statistics are its own. Dropout's key is drawn
  /// from LibTorch's generator if none is given.
  ClassCapsules forward(const torch::Tensor& images);
  ClassCapsules forward(const torch::Tensor& images, const DropoutKey& key);
  /// One tower for each value of `tower_of_row` (0 .. towers-1), each with its own batch
  /// statistics, in that order; rows of the result are in the images' order.
  ClassCapsules forward_towers(const torch::Tensor& images,
                               const std::vector<std::int64_t>& tower_of_row,
                               const DropoutKey& key);

  [[nodiscard]] const NetworkOptions& options() const { return options_; }
  [[nodiscard]] RoutingProbe& probe() { return probe_; }  ///< measures the first tower

  std::shared_ptr<ImageFeaturesImpl> extractor;
  torch::Tensor routing_weight;  // [D, K*O] or [N, D, K*O]

 private:
  [[nodiscard]] torch::Tensor initial_weights(std::uint64_t seed) const;
  [[nodiscard]] ClassCapsules head(const torch::Tensor& features, ImageSize images);

  NetworkOptions options_;
  RoutingProbe probe_;
};
TORCH_MODULE(CapsuleNetwork);

}  // namespace seam::nn
