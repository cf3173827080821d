/// Stage `model.se_resnet50`: SE-ResNet-50 as its authors published it, in Caffe.
///
///     images ──► (embedding), (logits), (feature_map)
#pragma once

#include "stages/model/base/residual.hpp"

namespace seam::stages {

class SeResnet50 final : public ResidualStage {
 public:
  static constexpr std::string_view name = "model.se_resnet50";

  void declare(Declaration& d) override {
    d.doc(
        "SE-ResNet-50 as its authors published it, in Caffe (Hu et al. 2018): the stride is in the "
        "first convolution of a bottleneck. Its weights are named as timm's legacy_seresnet50 and "
        "Cadene's se_resnet50 name them, so they are imported without renaming. model.resnet with "
        "squeeze_excitation is timm's seresnet50, which is a different network.");
    declare_sizes(d);
    declare_outputs(d);
  }

 private:
  void choose_network(nn::ResidualOptions& options) const override {
    options.style = nn::ResidualStyle::caffe;
    options.block = nn::ResidualBlock::bottleneck;
    options.blocks = {3, 4, 6, 3};
    options.squeeze_excitation = true;
  }
};

}  // namespace seam::stages
