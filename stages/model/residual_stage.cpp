#include "stages/model/residual_stage.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>
#include <seam/error.hpp>

namespace seam::stages {

void ResidualStage::declare_sizes(Declaration& d) {
  d.parameter("blocks", blocks_,
              "blocks of each size; the architecture's if empty. The first of a size halves height "
              "and width (the last one's: see last_stride) and doubles the channels")
      .range(1, 100);
  d.parameter("last_stride", options_.last_stride,
              "stride of the last of several sizes; 1 leaves it twice as high and wide, which "
              "retrieval by local features gains from")
      .range(1, 2);
  d.parameter("width", options_.width, "channels of the first convolution").range(1, 1024);
}

void ResidualStage::declare_outputs(Declaration& d) {
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
        {"fan_in", nn::ResidualInitialisation::fan_in}})
      .initial();
  d.parameter("embedding", embedding_,
              "provide the embedding; false: another stage makes one of the feature map");
  d.parameter("feature_map", feature_map_, "provide the feature map as well");
  d.parameter("normalise_map", options_.normalise_map,
              "the feature map goes through batch normalisation before others get it; what is "
              "pooled here does not");
  d.parameter(
      "mirrored", mirrored_,
      "evaluation averages the embeddings, and logits, of an image and of its mirror image: "
      "a better ranking, for twice the time");
  d.needs(field::images);
  const nn::ResidualOptions all = options();
  const std::int64_t length = all.dimensions > 0 ? all.dimensions : all.features();
  if (embedding_) {
    d.provides(field::embedding).contract("f32[N," + std::to_string(length) + "]");
  }
  if (all.classes > 0) {
    d.provides(field::logits).contract("f32[N," + std::to_string(all.classes) + "]");
  }
  vocabulary_.declare(d);  // also where classes are not set yet: offers are taken once
  if (feature_map_) {
    d.provides(field::feature_map).contract("f32[N," + std::to_string(all.features()) + ",H,W]");
  }
  declare_module(d);
}

void ResidualStage::open(Context& context) {
  vocabulary_.open();
  ModuleStage::open(context);
}

nn::ResidualOptions ResidualStage::options() const {
  nn::ResidualOptions options = options_;
  choose_network(options);
  if (!blocks_.empty()) options.blocks = blocks_;
  if (options.blocks.size() > 8) options.blocks.resize(8);  // make() refuses more
  return options;
}

void ResidualStage::check_parameters() const {
  if (blocks_.size() > 8) {
    throw Error("'blocks' lists " + std::to_string(blocks_.size()) +
                    " sizes; 8 are the most, and published networks have 4",
                Fault::configuration);
  }
  if (!embedding_ && (!feature_map_ || options_.dimensions > 0 ||
                      (options_.classes == 0 && options_.pooling != nn::Pooling::average))) {
    throw Error(
        "`embedding = false` leaves the feature map alone: set `feature_map = true`, and leave out "
        "`dimensions` and, without `classes`, `pooling`, whose weights nothing would train",
        Fault::configuration);
  }
  if (options_.normalise_map && !feature_map_) {
    throw Error("`normalise_map` has no effect without `feature_map = true`; remove it",
                Fault::configuration);
  }
  if (mirrored_ && !embedding_) {
    throw Error("`mirrored` has no effect with `embedding = false`; remove it",
                Fault::configuration);
  }
}

nn::ResidualNetwork ResidualStage::make() const {
  check_parameters();
  return nn::ResidualNetwork(options());
}

void ResidualStage::forward(nn::ResidualNetwork& net, Packet& packet, Context& context) {
  const Tensor& images = packet.get(field::images);
  const nn::ResidualOutput output =
      mirrored_ && !context.training() ? forward_mirrored(net, images) : net->forward(images);
  if (embedding_) packet.set(field::embedding, output.embedding);
  if (output.logits.defined()) packet.set(field::logits, output.logits);
  if (feature_map_) packet.set(field::feature_map, output.feature_map);
}

nn::ResidualOutput ResidualStage::forward_mirrored(nn::ResidualNetwork& net,
                                                   const Tensor& images) const {
  nn::ResidualOutput output = net->forward(images);
  const nn::ResidualOutput mirrored = net->forward(images.flip(3));
  // In float32 whatever the network computes in: the ranking is of small differences.
  output.embedding =
      (output.embedding.to(torch::kFloat32) + mirrored.embedding.to(torch::kFloat32)) / 2;
  if (options_.unit_length) {
    output.embedding = torch::nn::functional::normalize(
        output.embedding, torch::nn::functional::NormalizeFuncOptions().dim(1));
  }
  if (output.logits.defined()) output.logits = (output.logits + mirrored.logits) / 2;
  return output;
}

std::vector<std::string> ResidualStage::without_place() const {
  if (options_.classes > 0) return {};
  return {options().style == nn::ResidualStyle::caffe ? "last_linear.*" : "fc.*"};
}

}  // namespace seam::stages
