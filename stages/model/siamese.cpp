#include "stages/model/siamese.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <seam/error.hpp>

#include <string>

#include "stages/model/declare_routing.hpp"
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
  d.preset("variant", options_,
           "the network that the paper describes, or the one that its released code builds by "
           "default: 3x3 convolutions with mirrored borders and batch normalisation, fewer primary "
           "capsules, sigmoid, 3 iterations",
           {{"as_published", Options{nn::siamese_capsules_as_published(), 32}},
            {"released_default", Options{nn::siamese_capsules_released_default(), 16}}});
  declare_images(d);
  declare_capsules(d);
  d.parameter("dimensions", dimensions_, "length of the embedding").range(1, 65536);
  d.parameter("unit_length", unit_length_, "whether to scale the embedding to length 1");
  const nn::NetworkOptions& all = options_.network;
  d.needs(field::images)
      .contract("f32[N,3," + std::to_string(all.images.height) + "," +
                std::to_string(all.images.width) + "]");
  d.provides(field::embedding).contract("f32[N," + std::to_string(dimensions_) + "]");
  d.provides(field::capsules)
      .contract("f32[N," + std::to_string(all.classes) + "," +
                std::to_string(all.class_capsule_size) + "]")
      .doc("the face capsules");
  declare_module(d);
}

void SiameseStage::declare_images(Declaration& d) {
  nn::NetworkOptions& all = options_.network;
  d.parameter("channels", all.channels, "number of input channels: 1 (luminance) or 3").range(1, 3);
  d.parameter("image_height", all.images.height,
              "height of the input images; no other size is accepted")
      .range(1, 4096);
  d.parameter("image_width", all.images.width, "width of the input images").range(1, 4096);
  d.parameter("width", all.width, "channels of the first convolution").range(1, 4096);
  d.parameter("kernel", all.convolutions.kernel, "side of the first convolution")
      .range(1, 64)
      .only_with("variant", "as_published");
  d.parameter("first_stride", all.first_stride, "stride of the first convolution")
      .range(1, 16)
      .only_with("variant", "as_published");
  d.parameter("dropout", all.dropout,
              "probability that a whole channel of a convolution is zeroed in training")
      .range(0, 0.99);
}

void SiameseStage::declare_capsules(Declaration& d) {
  nn::NetworkOptions& all = options_.network;
  d.parameter("primary_capsules", options_.primary_capsules,
              "primary capsules at each position of their convolution")
      .range(1, 4096);
  d.parameter("capsule_size", all.capsule_size, "size of a primary capsule").range(1, 1024);
  d.parameter("primary_kernel", all.convolutions.primary_kernel,
              "side of the primary capsules' convolution")
      .range(1, 64)
      .only_with("variant", "as_published");
  d.parameter("primary_stride", all.convolutions.primary_stride,
              "stride of the primary capsules' convolution")
      .range(1, 16)
      .only_with("variant", "as_published");
  d.parameter("face_capsules", all.classes,
              "face capsules, to which the primary capsules are routed")
      .range(1, 4096);
  d.parameter("face_capsule_size", all.class_capsule_size, "size of a face capsule").range(1, 1024);
  declare_own_routing(d, all.routing, all.weight_deviation,
                      "Glorot's uniform distribution, or 1 with compat = \"routes_softmax\"");
  d.parameter("nonlinearity", all.routing.squash,
              "non-linearity of face capsules: squash, or tanh or sigmoid of each element. Primary "
              "capsules are always squashed",
              {{"squash", nn::SquashForm::epsilon_in_root},
               {"tanh", nn::SquashForm::tanh},
               {"sigmoid", nn::SquashForm::sigmoid}});
}

nn::SiameseCapsules SiameseStage::make() const {
  nn::SiameseCapsulesOptions all;
  all.capsules = options_.network;
  all.capsules.primary_channels = options_.primary_capsules * all.capsules.capsule_size;
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
