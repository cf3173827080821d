/// Stage `model.inception`: Inception v3: Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, "Rethinking the
/// inception architecture for computer vision", 2016, in the form that torchvision publishes
/// weights for, with its names; up to eleven of its blocks, and an embedding instead of classes.
///
///     images [N,3,H,W]
///       Conv2d_1a_3x3 /2, Conv2d_2a_3x3, Conv2d_2b_3x3, pooling /2               64 channels
///       Conv2d_3b_1x1, Conv2d_4a_3x3, pooling /2                                192
///       Mixed_5b, 5c, 5d        1x1, 5x5, two 3x3, pooling             256, 288, 288
///       Mixed_6a           /2   3x3, three 3x3, pooling                         768
///       Mixed_6b ... 6e         1x1, 7x1 and 1x7 once and twice, pooling        768
///       Mixed_7a           /2   3x3 after 1x1, and after 1x7 and 7x1, pooling   1280
///       Mixed_7b, 7c            1x1, 1x3 beside 3x1 twice, pooling              2048
///       average over the pixels                                                [N,F]
///       embedding   dense; to unit length                                      [N,E]
///
/// A block's branches all get its input, and their results are concatenated:
///
///         ┌─► branch 1 ─┐
///     x ──┼─► branch 2 ─┼─► concatenated over the channels
///         └─► pooling  ─┘
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "stages/model/base/embedding_stage.hpp"
#include "stages/nn/layers.hpp"
#include "stages/nn/pooling.hpp"

namespace seam::nn {

/// A convolution without bias, batch normalisation with torchvision's epsilon 0.001, ReLU.
struct InceptionConvolutionOptions {
  std::string name;
  std::int64_t out = 0;
  std::int64_t height = 1;  ///< of the kernel; odd
  std::int64_t width = 1;
  std::int64_t stride = 1;
  bool padded = true;  ///< with zeros, so that a stride of 1 keeps the size
};

class InceptionConvolutionImpl : public torch::nn::Module {
 public:
  InceptionConvolutionImpl(std::int64_t in, const InceptionConvolutionOptions& options);
  Tensor forward(const Tensor& x);

 private:
  Conv2d conv_;
  BatchNorm2d bn_;
};
TORCH_MODULE(InceptionConvolution);

enum class InceptionPooling : std::uint8_t {
  none,
  average,  ///< 3x3, stride 1; zeros beyond the border count
  maximum,  ///< 3x3, stride 2
};

/// Pooling, then convolutions in sequence, then others in parallel.
struct InceptionBranch {
  InceptionPooling pooling = InceptionPooling::none;
  std::vector<InceptionConvolutionOptions> row = {};
  std::vector<InceptionConvolutionOptions> beside = {};
};

class InceptionBlockImpl : public torch::nn::Module {
 public:
  InceptionBlockImpl(std::int64_t in, const std::vector<InceptionBranch>& branches);
  Tensor forward(const Tensor& x);
  /// Channels of the result.
  [[nodiscard]] std::int64_t out() const { return out_; }

 private:
  struct Branch {
    InceptionPooling pooling = InceptionPooling::none;
    std::vector<InceptionConvolution> row, beside;
  };

  std::vector<Branch> branches_;
  std::int64_t out_ = 0;
};
TORCH_MODULE(InceptionBlock);

struct InceptionOptions {
  std::int64_t blocks = 6;       ///< the first ones of the eleven
  double width = 1;              ///< factor on the paper's channels of each convolution
  std::int64_t dimensions = 20;  ///< of the embedding
  bool unit_length = true;
};

/// The names of the eleven blocks: "Mixed_5b", ...
[[nodiscard]] const std::vector<std::string>& inception_block_names();

class InceptionImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error for blocks other than 1 to 11, a width that is not above 0, and an
  /// embedding of length 0.
  explicit InceptionImpl(InceptionOptions options);
  /// Throws seam::Error for images whose feature map would be empty: below 27x27 pixels for up to
  /// three blocks, 43x43 for up to eight, 75x75 for more.
  Tensor forward(const Tensor& images);

 private:
  [[nodiscard]] std::int64_t channels(std::int64_t published) const;
  void add_stem();
  void add_block(const std::string& name, std::vector<InceptionBranch> branches);

  InceptionOptions options_;
  std::vector<InceptionConvolution> stem_;
  std::vector<InceptionBlock> blocks_;
  std::int64_t features_ = 3;
  GlobalPooling pool_{nullptr};
  Linear embedding_{nullptr};
};
TORCH_MODULE(Inception);

}  // namespace seam::nn

namespace seam::stages {

class Inception final : public EmbeddingStage<nn::Inception, nn::InceptionOptions> {
 public:
  static constexpr std::string_view name = "model.inception";

  void declare(Declaration& d) override;

 private:
  /// torchvision's classifiers, and the omitted blocks.
  [[nodiscard]] std::vector<std::string> without_place() const override;
};

}  // namespace seam::stages
