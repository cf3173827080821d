#include "stages/model/residual_stage.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>
#include <seam/error.hpp>

namespace seam::stages {

void ResidualStage::declare_sizes(Declaration& d) {
  d.parameter(
       "blocks", blocks_,
       "number of blocks of each size; empty: those of the architecture. The first block of a size "
       "halves height and width (for the last size see last_stride) and doubles the channels")
      .range(1, 100);
  d.parameter("last_stride", options_.last_stride,
              "stride of the last of several sizes; 1 makes the feature map twice as high and "
              "wide, which helps retrieval by local features")
      .range(1, 2);
  d.parameter("width", options_.width, "channels of the first convolution").range(1, 1024);
}

void ResidualStage::declare_outputs(Declaration& d) {
  d.parameter(
      "pooling", options_.pooling, "pooling of the feature map over its pixels",
      {{"average", nn::Pooling::average}, {"generalised_mean", nn::Pooling::generalised_mean}});
  d.parameter("dimensions", options_.dimensions,
              "length of the embedding, which a dense layer makes; 0: the pooled features are the "
              "embedding")
      .range(0, 65536);
  d.parameter("unit_length", options_.unit_length, "whether to scale the embedding to length 1");
  d.parameter("classes", options_.classes, "classes of the classifier; 0: no classifier")
      .range(0, 1000000);
  d.parameter("initialisation", options_.initialisation,
              "initial weights of convolutions: normal with variance 2 / fan-out, as in "
              "torchvision, or uniform in ±1 / sqrt(fan-in), LibTorch's default. The latter are "
              "smaller, so they change faster at the same learning rate",
              {{"fan_out", nn::ResidualInitialisation::fan_out},
               {"fan_in", nn::ResidualInitialisation::fan_in}})
      .initial();
  d.parameter(
      "embedding", embedding_,
      "whether to provide the embedding; false: a different stage makes one from the feature map");
  d.parameter("feature_map", feature_map_, "whether to also provide the feature map");
  d.parameter("normalise_map", options_.normalise_map,
              "whether the feature map that other stages get goes through batch normalisation; the "
              "map that is pooled here does not");
  d.parameter("mirrored", mirrored_,
              "whether evaluation averages the embeddings, and logits, of an image and its mirror "
              "image: a better ranking for twice the time");
  d.needs(field::images);
  const nn::ResidualOptions all = options();
  const std::int64_t length = all.dimensions > 0 ? all.dimensions : all.features();
  if (embedding_) {
    d.provides(field::embedding).contract("f32[N," + std::to_string(length) + "]");
  }
  if (all.classes > 0) {
    d.provides(field::logits).contract("f32[N," + std::to_string(all.classes) + "]");
  }
  vocabulary_.declare(d);  // even if classes are not set yet: offers are read only once
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
  if (options.blocks.size() > 8) options.blocks.resize(8);  // make() rejects more
  return options;
}

void ResidualStage::check_parameters() const {
  if (blocks_.size() > 8) {
    throw Error("'blocks' lists " + std::to_string(blocks_.size()) +
                    " sizes, but the maximum is 8; published networks have 4",
                Fault::configuration);
  }
  if (!embedding_ && (!feature_map_ || options_.dimensions > 0 ||
                      (options_.classes == 0 && options_.pooling != nn::Pooling::average))) {
    throw Error(
        "`embedding = false` leaves only the feature map as output: set `feature_map = true`, and "
        "remove `dimensions` and, without `classes`, `pooling`, whose weights nothing would train",
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
  // In float32 whatever the precision of the network: the ranking depends on small differences.
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
