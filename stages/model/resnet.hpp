/// Stage `model.resnet`: a residual network with an embedding, a classifier, or both.
///
///     images ──► (embedding), (logits), (feature_map)
#pragma once

#include "stages/model/base/residual.hpp"

namespace seam::stages {

class Resnet final : public ResidualStage {
 public:
  static constexpr std::string_view name = "model.resnet";

  void declare(Declaration& d) override {
    d.doc(
        "A residual network (He et al. 2016). Its weights are named as torchvision and timm name "
        "them, so their files can be imported as they are.");
    d.parameter("architecture", architecture_, "number and kind of the blocks",
                {{"resnet18", Architecture::resnet18},
                 {"resnet34", Architecture::resnet34},
                 {"resnet50", Architecture::resnet50}});
    declare_sizes(d);
    d.parameter(
        "stem", stem_,
        "first convolution: 7x7 with stride 2 and max pooling or, for small images, 3x3 with "
        "stride 1 or 2",
        {{"imagenet", nn::ResidualStem::imagenet},
         {"small", nn::ResidualStem::small},
         {"small_by_2", nn::ResidualStem::small_by_2}});
    d.parameter("squeeze_excitation", squeeze_excitation_,
                "whether to weight channels by the content of the whole image (Hu et al. 2018)");
    declare_outputs(d);
  }

 private:
  enum class Architecture : std::uint8_t { resnet18, resnet34, resnet50 };

  void choose_network(nn::ResidualOptions& options) const override {
    options.stem = stem_;
    options.squeeze_excitation = squeeze_excitation_;
    if (architecture_ != Architecture::resnet18) options.blocks = {3, 4, 6, 3};
    if (architecture_ == Architecture::resnet50) options.block = nn::ResidualBlock::bottleneck;
  }

  Architecture architecture_ = Architecture::resnet18;
  nn::ResidualStem stem_ = nn::ResidualStem::imagenet;
  bool squeeze_excitation_ = false;
};

}  // namespace seam::stages
