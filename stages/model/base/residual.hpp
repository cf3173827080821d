/// Residual networks and the base class of their stages: model.resnet and model.se_resnet50.
///
/// The networks are those of He, Zhang, Ren, Sun, "Deep residual learning for image recognition",
/// 2016, in the form that torchvision and timm publish weights for, and with their names.
///
///     images [N,3,H,W]
///       conv1, bn1, ReLU, (max pooling)                                   w channels
///       layer1  blocks[0] blocks of stride 1                              w
///       layer2  blocks[1] blocks, the first of stride 2                  2w
///       ...                                                 feature_map  [N,F,h,w]
///       pooling over the pixels                                          [N,F]
///         ├─► embedding: a dense layer, or none; to unit length          [N,E]
///         └─► fc: a dense layer                                  logits  [N,K]
///
/// A bottleneck gives 4 times the channels of its 3x3 convolution. Squeeze-and-excitation (Hu,
/// Shen, Sun, 2018) scales the channels of each block's sum before the shortcut is added. There are
/// two styles, each with its own weights:
///
///                      torchvision                  caffe
///     bottleneck       stride in the 3x3            stride in the first 1x1
///     pooling of the   borders padded               none padded, and the last window may end
///     large stem                                    beyond the map (ceil)
///     names            conv1, se, fc                layer0.conv1, se_module, last_linear
///     weights of       torchvision, timm's          timm's legacy_seresnet*, Cadene's
///                      seresnet* ("v1.5")           pretrained-models: Hu's own, converted
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>

#include "stages/model/base/classifier_stage.hpp"
#include "stages/nn/layers.hpp"
#include "stages/nn/pooling.hpp"

namespace seam::nn {

enum class ResidualBlock : std::uint8_t {
  basic,       ///< 3x3, 3x3
  bottleneck,  ///< 1x1, 3x3, 1x1 to 4 times the channels
};

/// The layers before the blocks.
enum class ResidualStem : std::uint8_t {
  imagenet,   ///< 7x7 of stride 2, then 3x3 max pooling of stride 2
  small,      ///< 3x3 of stride 1: for images of about 32 pixels
  small_by_2  ///< 3x3 of stride 2: for images of about 64 pixels
};

/// The source of compatible weights, and the differences between networks of the same name: see
/// above.
enum class ResidualStyle : std::uint8_t { torchvision, caffe };

/// The initial weights of convolutions.
enum class ResidualInitialisation : std::uint8_t {
  fan_out,  ///< torchvision's: normal of variance 2 / fan-out (He et al. 2015)
  fan_in,   ///< LibTorch's for a convolution: uniform in ±1 / sqrt(fan-in)
};

struct ResidualOptions {
  ResidualBlock block = ResidualBlock::basic;
  std::vector<std::int64_t> blocks = {2, 2, 2, 2};  ///< of layer1, layer2, ...
  std::int64_t width = 64;                          ///< channels of the stem and of layer1's 3x3
  ResidualStem stem = ResidualStem::imagenet;
  ResidualStyle style = ResidualStyle::torchvision;
  bool squeeze_excitation = false;
  Pooling pooling = Pooling::average;
  std::int64_t dimensions = 0;   ///< of the embedding; 0: the pooled features
  bool unit_length = true;       ///< of the embedding
  std::int64_t classes = 0;      ///< 0: no fc
  std::int64_t last_stride = 2;  ///< of the last of several layers; 1: a map of twice the size
  bool normalise_map = false;    ///< the returned map goes through its own batch normalisation
  ResidualInitialisation initialisation = ResidualInitialisation::fan_out;

  /// F, the channels of the feature map.
  [[nodiscard]] std::int64_t features() const;
};

struct ResidualOutput {
  Tensor feature_map;  ///< normalised if `normalise_map`; the map that is pooled is not
  Tensor embedding;
  Tensor logits;  ///< undefined without classes
};

/// x * sigmoid(fc2(relu(fc1(mean of x over the pixels)))), with a sixteenth of the channels in
/// between: in torchvision's style rounded to a multiple of 8, in Caffe's rounded down.
class SqueezeExcitationImpl : public torch::nn::Module {
 public:
  SqueezeExcitationImpl(std::int64_t channels, ResidualStyle style);
  Tensor forward(const Tensor& x);

 private:
  Conv2d fc1_;
  Conv2d fc2_;
};
TORCH_MODULE(SqueezeExcitation);

struct ResidualBlockOptions {
  std::int64_t in = 0;
  std::int64_t channels = 0;
  std::int64_t stride = 1;
  bool squeeze_excitation = false;
  ResidualStyle style = ResidualStyle::torchvision;
};

class BasicBlockImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t expansion = 1;
  explicit BasicBlockImpl(const ResidualBlockOptions& options);
  Tensor forward(const Tensor& x);

 private:
  Conv2d conv1_, conv2_;
  BatchNorm2d bn1_, bn2_;
  SqueezeExcitation se_{nullptr};
  torch::nn::Sequential downsample_{nullptr};
};
TORCH_MODULE(BasicBlock);

class BottleneckImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t expansion = 4;
  explicit BottleneckImpl(const ResidualBlockOptions& options);
  Tensor forward(const Tensor& x);

 private:
  Conv2d conv1_, conv2_, conv3_;
  BatchNorm2d bn1_, bn2_, bn3_;
  SqueezeExcitation se_{nullptr};
  torch::nn::Sequential downsample_{nullptr};
};
TORCH_MODULE(Bottleneck);

class ResidualNetworkImpl : public torch::nn::Module {
 public:
  explicit ResidualNetworkImpl(ResidualOptions options);
  /// Images of at least one pixel; of at least 3x3 for the large stem in Caffe's style.
  ResidualOutput forward(const Tensor& images);

 private:
  [[nodiscard]] Tensor pooled_stem(const Tensor& map) const;

  ResidualOptions options_;
  Conv2d conv1_{nullptr};
  BatchNorm2d bn1_{nullptr};
  std::vector<torch::nn::Sequential> layers_;
  BatchNorm2d map_bn_{nullptr};
  GlobalPooling pool_{nullptr};
  Linear embedding_{nullptr};
  Linear fc_{nullptr};
};
TORCH_MODULE(ResidualNetwork);

}  // namespace seam::nn

namespace seam::stages {

/// Options with overrides ─► nn::ResidualNetwork; derived stages define the network.
///
///     images ──► (embedding), (logits), (feature_map)
class ResidualStage : public ClassifierStage<nn::ResidualNetwork> {
 protected:
  /// `blocks`, `last_stride` and `width`.
  void declare_sizes(Declaration& d);
  /// Declares the parameters of the layers after the blocks, and the fields; call it at the end of
  /// declare().
  void declare_outputs(Declaration& d);

 private:
  /// Sets the options of this network, before the file's parameters override them.
  virtual void choose_network(nn::ResidualOptions& options) const = 0;

  [[nodiscard]] nn::ResidualNetwork make() const final;
  void forward(nn::ResidualNetwork& net, Packet& packet, Context& context) final;
  [[nodiscard]] std::vector<std::string> without_place() const final;
  /// The embedding, and logits, of images and of their mirror images, averaged.
  [[nodiscard]] nn::ResidualOutput forward_mirrored(nn::ResidualNetwork& net,
                                                    const Tensor& images) const;
  /// The network, overridden by the file's parameters.
  [[nodiscard]] nn::ResidualOptions options() const;
  /// Throws seam::Error for parameters that have no effect with others.
  void check_parameters() const;

  std::vector<std::int64_t> blocks_;
  nn::ResidualOptions options_;
  bool embedding_ = true;
  bool feature_map_ = false;
  bool mirrored_ = false;
};

}  // namespace seam::stages
