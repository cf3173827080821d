#include "stages/model/resnet.hpp"

#include <seam/error.hpp>

namespace seam::stages {

void Resnet::declare(Declaration& d) {
  d.doc(
      "A residual network (He et al. 2016). Its weights are named as torchvision and timm name "
      "them, so their files can be imported as they are.");
  d.parameter("architecture", architecture_, "the number of blocks, and their kind",
              {{"resnet18", Architecture::resnet18},
               {"resnet34", Architecture::resnet34},
               {"resnet50", Architecture::resnet50}});
  d.parameter("blocks", blocks_,
              "blocks of each size; the architecture's if empty. The first of a size halves height "
              "and width and doubles the channels")
      .range(1, 100);
  d.parameter("width", options_.width, "channels of the first convolution").range(1, 1024);
  d.parameter("stem", options_.stem,
              "the first convolution: 7x7 of stride 2 and max pooling, or, for small images, 3x3 "
              "of stride 1 or 2",
              {{"imagenet", nn::ResidualStem::imagenet},
               {"small", nn::ResidualStem::small},
               {"small_by_2", nn::ResidualStem::small_by_2}});
  d.parameter("squeeze_excitation", options_.squeeze_excitation,
              "channels are weighted by what the whole image shows (Hu et al. 2018)");
  d.parameter(
      "pooling", options_.pooling, "of the feature map over its pixels",
      {{"average", nn::Pooling::average}, {"generalised_mean", nn::Pooling::generalised_mean}});
  d.parameter("dimensions", options_.dimensions,
              "length of the embedding, by a dense layer; 0: the pooled features are the embedding")
      .range(0, 65536);
  d.parameter("unit_length", options_.unit_length, "the embedding is scaled to length 1");
  d.parameter("classes", options_.classes, "of the classifier; 0: there is none").range(0, 1000000);
  d.parameter(
      "initialisation", options_.initialisation,
      "of convolutions: normal of variance 2 / fan-out, as torchvision's, or uniform within "
      "1 / sqrt(fan-in), LibTorch's for a layer. The latter are smaller, so that they change "
      "faster at the same learning rate",
      {{"fan_out", nn::ResidualInitialisation::fan_out},
       {"fan_in", nn::ResidualInitialisation::fan_in}});
  d.parameter("feature_map", feature_map_, "provide the feature map as well");
  d.needs(field::images);
  const nn::ResidualOptions all = options();
  const std::int64_t length = all.dimensions > 0 ? all.dimensions : all.features();
  d.provides(field::embedding).contract("f32[N," + std::to_string(length) + "]");
  if (all.classes > 0) {
    d.provides(field::logits).contract("f32[N," + std::to_string(all.classes) + "]");
  }
  if (feature_map_) {
    d.provides(field::feature_map).contract("f32[N," + std::to_string(all.features()) + ",H,W]");
  }
  declare_module(d);
}

nn::ResidualOptions Resnet::options() const {
  nn::ResidualOptions options = options_;
  if (architecture_ != Architecture::resnet18) options.blocks = {3, 4, 6, 3};
  if (architecture_ == Architecture::resnet50) options.block = nn::ResidualBlock::bottleneck;
  if (!blocks_.empty()) options.blocks = blocks_;
  if (options.blocks.size() > 8) options.blocks.resize(8);  // make() refuses more
  return options;
}

nn::ResidualNetwork Resnet::make() const {
  if (blocks_.size() > 8) {
    throw Error("'blocks' lists " + std::to_string(blocks_.size()) +
                    " sizes; 8 are the most, and published networks have 4",
                Fault::configuration);
  }
  return nn::ResidualNetwork(options());
}

void Resnet::forward(nn::ResidualNetwork& net, Packet& packet, Context& /*context*/) {
  const nn::ResidualOutput output = net->forward(packet.get(field::images));
  packet.set(field::embedding, output.embedding);
  if (output.logits.defined()) packet.set(field::logits, output.logits);
  if (feature_map_) packet.set(field::feature_map, output.feature_map);
}

std::vector<std::string> Resnet::without_place() const {
  if (options_.classes > 0) return {};
  return {"fc.*"};
}

}  // namespace seam::stages
