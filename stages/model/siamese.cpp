#include "stages/model/siamese.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include "stages/model/class_capsules.hpp"
#include "stages/nn/initialisation.hpp"

namespace seam::nn {

using torch::Tensor;

SiameseCapsulesImpl::SiameseCapsulesImpl(const SiameseCapsulesOptions& options, std::uint64_t seed)
    : options_(options) {
  if (options.dimensions < 1) {
    throw Error("an embedding needs at least one dimension", Fault::configuration);
  }
  network = register_module("capsules", CapsuleNetwork(options.capsules, seed));
  const std::int64_t numbers = options.capsules.classes * options.capsules.class_capsule_size;
  dense = register_module("dense", Linear(numbers, options.dimensions));
  {
    const torch::NoGradGuard no_gradient;
    // After the streams of the convolutions and of the routing weights.
    dense->weight.copy_(glorot_uniform({options.dimensions, numbers}, numbers, options.dimensions,
                                       seed, network->extractor->streams() + 1));
    dense->bias.zero_();
  }
  if (!options.dropout) return;
  ConcreteDropoutOptions of_capsules = *options.dropout;
  of_capsules.capsules = options.capsules.classes;
  dropout = register_module("dropout", ConcreteDropout(of_capsules));
}

SiameseResult SiameseCapsulesImpl::forward(const Tensor& images, const DropoutKey& key) {
  SiameseResult result;
  result.capsules = network->forward(images, key).capsules;
  Tensor x = result.capsules;
  if (!dropout.is_empty()) {
    // A layer number that no convolution has.
    constexpr std::int64_t layer = 1000;
    const Tensor noise =
        dropout->is_training()
            ? concrete_noise(x.size(0), x.size(1), key, layer, x.scalar_type()).to(x.device())
            : Tensor();
    x = dropout->forward(x, noise);
  }
  x = dense->forward(x.flatten(1)).to(dense->weight.scalar_type());
  if (options_.unit_length) x = x * torch::rsqrt((x * x).sum(1, true).clamp_min(1e-12));
  result.embedding = x;
  return result;
}

}  // namespace seam::nn

namespace seam::stages {

void SiameseStage::declare_network(Declaration& d) {
  declare_first_convolution(d, options_);
  d.parameter("dropout", options_.dropout,
              "probability that a whole channel of a convolution is zeroed in training")
      .range(0, 0.99);
  declare_capsules(d);
  d.parameter("dimensions", dimensions_, "length of the embedding").range(1, 65536);
  d.parameter("unit_length", unit_length_, "whether to scale the embedding to length 1");
  d.needs(field::images)
      .contract(
          images_of_size(options_.images.height, options_.images.width, nn::least_side(options_)));
  d.provides(field::embedding).contract("f32[N," + std::to_string(dimensions_) + "]");
  d.provides(field::capsules)
      .contract("f32[N," + std::to_string(options_.classes) + "," +
                std::to_string(options_.class_capsule_size) + "]")
      .doc("the face capsules");
  declare_module(d);
}

void SiameseStage::declare_capsules(Declaration& d) {
  d.parameter("primary_capsules", primary_capsules_,
              "primary capsules at each position of their convolution")
      .range(1, 4096);
  d.parameter("capsule_size", options_.capsule_size, "size of a primary capsule").range(1, 1024);
  d.parameter("primary_kernel", options_.convolutions.primary_kernel,
              "side of the primary capsules' convolution")
      .range(1, 64);
  d.parameter("primary_stride", options_.convolutions.primary_stride,
              "stride of the primary capsules' convolution")
      .range(1, 16);
  d.parameter("face_capsules", options_.classes,
              "face capsules, to which the primary capsules are routed")
      .range(1, 4096);
  d.parameter("face_capsule_size", options_.class_capsule_size, "size of a face capsule")
      .range(1, 1024);
  declare_own_routing(d, options_.routing, options_.weight_deviation);
}

nn::SiameseCapsules SiameseStage::make() const {
  nn::SiameseCapsulesOptions all;
  all.capsules = options_;
  all.capsules.primary_channels = primary_capsules_ * all.capsules.capsule_size;
  all.dimensions = dimensions_;
  all.unit_length = unit_length_;
  all.dropout = concrete_dropout();
  return nn::SiameseCapsules(all, nn::generator_seed());
}

void SiameseStage::forward(nn::SiameseCapsules& net, Packet& packet, Context& context) {
  const nn::DropoutKey key{context.seed(), stream_of(context.stage()),
                           static_cast<std::uint64_t>(context.epoch()), packet.sequence()};
  const nn::SiameseResult result = net->forward(packet.get(field::images), key);
  packet.set(field::embedding, result.embedding);
  packet.set(field::capsules, result.capsules);
}

}  // namespace seam::stages
