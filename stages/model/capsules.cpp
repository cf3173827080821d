#include "stages/model/capsules.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include "stages/counted.hpp"
#include "stages/nn/feature_map.hpp"
#include "stages/nn/image_features.hpp"
#include "stages/nn/initialisation.hpp"
#include "stages/nn/squash.hpp"

namespace seam::nn {

using stages::width_by_height;
using torch::Tensor;

std::int64_t CapsulesOptions::positions(std::int64_t height, std::int64_t width) const {
  if (padding == PrimaryPadding::same) return same_size(height, stride) * same_size(width, stride);
  if (height < kernel || width < kernel) {
    throw Error("a map of " + width_by_height(width, height) +
                    " (width x height) is smaller than the primary convolution of " +
                    width_by_height(kernel, kernel) +
                    "; set `map_height` and `map_width` to those of the feature map, a smaller "
                    "`primary_kernel`, or `primary_padding = \"same\"`",
                Fault::configuration);
  }
  return ((height - kernel) / stride + 1) * ((width - kernel) / stride + 1);
}

CapsulesImpl::CapsulesImpl(const CapsulesOptions& options, std::uint64_t seed) : options_(options) {
  if (options_.channels < 1 || options_.primary_capsules < 1 || options_.capsule_size < 1 ||
      options_.kernel < 1 || options_.stride < 1 || options_.classes < 1 ||
      options_.class_capsule_size < 1) {
    throw Error("the sizes of capsules, and of their input, must be at least 1",
                Fault::configuration);
  }
  const std::int64_t channels = options_.primary_capsules * options_.capsule_size;
  const std::int64_t columns = options_.classes * options_.class_capsule_size;
  primary_ = register_module(
      "primary", Conv2d(torch::nn::Conv2dOptions(options_.channels, channels, options_.kernel)
                            .stride(options_.stride)
                            .bias(!options_.normalise_primary)));
  if (options_.normalise_primary) {
    primary_bn_ = register_module("primary_bn", BatchNorm2d(channels));
  }
  std::vector<std::int64_t> sizes{options_.capsule_size, columns};
  if (options_.weights == CapsuleWeights::own) {
    sizes.insert(sizes.begin(), options_.primary_capsules *
                                    options_.positions(options_.map_height, options_.map_width));
  }
  weight_ =
      register_parameter("w", options_.weight_deviation
                                  ? normal_values(sizes, *options_.weight_deviation, seed, 0)
                                  : glorot_uniform(sizes, options_.capsule_size, columns, seed, 0));
  if (options_.normalise_classes) class_bn_ = register_module("class_bn", BatchNorm2d(columns));
  if (options_.attention) {
    attention_ = register_module("attention", SelfAttention(options_.class_capsule_size));
  }
}

Tensor CapsulesImpl::primary_capsules(const Tensor& map) {
  check_feature_map(map, options_.channels);
  if (options_.weights == CapsuleWeights::own &&
      (map.size(2) != options_.map_height || map.size(3) != options_.map_width)) {
    throw Error("the feature map is " + width_by_height(map.size(3), map.size(2)) +
                    ", but the capsules have weights for " +
                    width_by_height(options_.map_width, options_.map_height) +
                    " (width x height); set `map_width` and `map_height`, resize the images, or "
                    "let the capsules share their weights (`routing_weights = \"shared\"`)",
                Fault::configuration);
  }
  (void)options_.positions(map.size(2), map.size(3));  // rejects small maps
  Tensor primary = primary_(options_.padding == PrimaryPadding::same
                                ? same_padded(map, options_.kernel, options_.stride)
                                : map);
  if (primary_bn_) primary = primary_bn_(primary);
  return squash(group_capsules(primary.to(weight_.scalar_type()), options_.capsule_size),
                options_.routing.squash, options_.routing.epsilon);
}

CapsulesOutput CapsulesImpl::forward(const Tensor& map) {
  Tensor v = probe_.route(primary_capsules(map), weight_, options_.classes, options_.routing);
  if (class_bn_) v = class_bn_(v.reshape({v.size(0), -1, 1, 1})).view(v.sizes());
  const Tensor capsules = attention_ ? attention_(v) : v;
  return {capsules, capsule_lengths(v),
          normalise_capsules(capsules, options_.norm_axis).flatten(1)};
}

}  // namespace seam::nn

namespace seam::stages {

void Capsules::declare(Declaration& d) {
  d.doc(
      "A capsule head for any network: primary capsules from its feature map, routed to class "
      "capsules, whose elements are the embedding. With the defaults the primary convolution and "
      "the class capsules go through batch normalisation, each primary capsule has its own "
      "weights, and nothing is routed or squashed.");
  declare_primary(d);
  declare_classes(d);
  d.parameter("embedding", embedding_,
              "whether to provide the embedding; false: a different stage makes one");
  d.parameter("norm_axis", options_.norm_axis,
              "what is scaled to unit length in the embedding: the whole vector, each capsule, or "
              "nothing",
              {{"vector", nn::NormAxis::vector},
               {"capsule", nn::NormAxis::capsule},
               {"none", nn::NormAxis::none}})
      .only_with("embedding", Value{true});
  declare_fields(d);
  d.offers<MakesCapsules>(*this);
  declare_classifier(d);
}

void Capsules::declare_primary(Declaration& d) {
  d.parameter("channels", options_.channels, "channels of the feature map")
      .range(1, 65536)
      .from_field();
  d.parameter("primary_capsules", options_.primary_capsules,
              "primary capsules at each position of the primary convolution")
      .range(1, 4096);
  d.parameter("capsule_size", options_.capsule_size, "size of a primary capsule").range(1, 1024);
  d.parameter("primary_kernel", options_.kernel, "side of the primary convolution").range(1, 64);
  d.parameter("primary_stride", options_.stride, "stride of the primary convolution").range(1, 16);
  d.parameter("primary_padding", options_.padding,
              "borders of the primary convolution: none, or zeros as in TensorFlow's SAME, so that "
              "a map with sides of S has S / stride positions, rounded up",
              {{"none", nn::PrimaryPadding::none}, {"same", nn::PrimaryPadding::same}});
  d.parameter("normalise_primary", options_.normalise_primary,
              "whether the primary convolution goes through batch normalisation");
  d.parameter(
      "squash", options_.routing.squash,
      "function that limits primary and class capsules: none, or length²/(1+length²) in "
      "their direction, with epsilon within the root",
      {{"none", nn::SquashForm::none}, {"epsilon_in_root", nn::SquashForm::epsilon_in_root}});
}

void Capsules::declare_classes(Declaration& d) {
  d.parameter("classes", options_.classes, "class capsules").range(1, 100000);
  d.parameter("class_capsule_size", options_.class_capsule_size, "size of a class capsule")
      .range(1, 1024);
  d.parameter("routing_weights", options_.weights,
              "whether each primary capsule has its own matrices that predict class capsules, or "
              "all share them",
              {{"own", nn::CapsuleWeights::own}, {"shared", nn::CapsuleWeights::shared}});
  d.parameter("map_height", options_.map_height,
              "height of the feature map, on which the number of weights depends")
      .range(1, 4096)
      .only_with("routing_weights", "own");
  d.parameter("map_width", options_.map_width, "width of the feature map, likewise")
      .range(1, 4096)
      .only_with("routing_weights", "own");
  d.parameter("weight_deviation", options_.weight_deviation,
              "standard deviation of the routing weights' initial values, which are then normally "
              "distributed; default: Glorot's uniform distribution")
      .range(1e-9, 100);
  d.parameter(
      "routing", routing_,
      "what couples primary capsules to class capsules: nothing, so that all have the same "
      "weight, the dot product of prediction and class capsule (Sabour et al. 2017), or "
      "their cosine times `factor`",
      {{"none", Routing::none}, {"agreement", Routing::agreement}, {"cosine", Routing::cosine}});
  d.parameter("iterations", iterations_, "routing iterations; the first couples all equally")
      .range(1, 100)
      .only_with("routing", std::vector<std::string>{"agreement", "cosine"});
  d.parameter("factor", options_.routing.factor, "factor on the cosines before the softmax")
      .range(0, 1e6)
      .only_with("routing", "cosine");
  d.parameter("normalise_classes", options_.normalise_classes,
              "whether the elements of the class capsules go through batch normalisation");
  d.parameter("attention", options_.attention,
              "whether to then apply self-attention over the class capsules");
}

void Capsules::declare_fields(Declaration& d) {
  const std::string classes = std::to_string(options_.classes);
  const std::string size = std::to_string(options_.class_capsule_size);
  const std::string sides =
      options_.weights == nn::CapsuleWeights::own
          ? std::to_string(options_.map_height) + "," + std::to_string(options_.map_width)
          : "H,W";
  d.needs(field::feature_map)
      .contract("f32[N," + dimension_of(options_.channels, "channels") + "," + sides + "]");
  d.provides(field::capsules)
      .contract("f32[N," + classes + "," + size + "]")
      .doc("after attention, not of unit length");
  d.provides(field::class_lengths).contract("f32[N," + classes + "]").doc("before attention");
  if (embedding_) {
    d.provides(field::embedding)
        .contract("f32[N," + std::to_string(options_.classes * options_.class_capsule_size) + "]")
        .doc("the concatenated capsules, scaled along `norm_axis`");
  }
}

nn::Capsules Capsules::make() const {
  nn::CapsulesOptions all = options_;
  all.routing.iterations = routing_ == Routing::none ? 1 : iterations_;
  if (routing_ == Routing::cosine) {
    all.routing.agreement = nn::Agreement::cosine;
    all.routing.logits = nn::Logits::replace;
  }
  return nn::Capsules(all, nn::generator_seed());
}

void Capsules::forward(nn::Capsules& net, Packet& packet, Context& /*context*/) {
  const nn::CapsulesOutput output = net->forward(packet.get(field::feature_map));
  packet.set(field::capsules, output.capsules);
  packet.set(field::class_lengths, output.lengths);
  if (embedding_) packet.set(field::embedding, output.embedding);
}

}  // namespace seam::stages
