#include "stages/model/capsule_module.hpp"

#include <seam/error.hpp>

#include <string>

#include "stages/nn/initialisation.hpp"

namespace seam::stages {

void CapsuleModule::declare(Declaration& d) {
  d.doc(
      "The capsule module of Durmuş et al. (2023): global descriptors, cut into capsules, are "
      "routed to class capsules, which look at each other by self-attention. Or primary capsules "
      "of a feature map are, as in other capsule networks (type C of the paper).");
  d.parameter("input", options_.input,
              "what capsules are made of: the embedding of model.descriptors, in pieces of "
              "capsule_size, or primary capsules, by a convolution of the feature map",
              {{"descriptors", nn::CapsuleInput::descriptors},
               {"feature_map", nn::CapsuleInput::feature_map}});
  d.parameter("width", options_.width,
              "of the input: the length of the embedding, whose number of capsules follows from "
              "it, or the channels of the feature map")
      .range(1, 1048576)
      .required();
  d.parameter("capsule_size", options_.capsule_size, "numbers of a capsule").range(1, 1024);
  d.parameter("classes", options_.classes,
              "class capsules: 12 in the paper, as many as Stanford Online Products has categories")
      .range(1, 100000);
  d.parameter("class_capsule_size", options_.class_capsule_size, "numbers of a class capsule")
      .range(1, 1024);
  d.parameter("iterations", options_.routing.iterations, "of routing").range(1, 100);
  d.parameter("gradient", options_.routing.gradient, "how far through routing the gradient goes",
              {{"all_iterations", nn::RoutingGradient::all_iterations},
               {"last_iteration", nn::RoutingGradient::last_iteration}});
  d.parameter("weight_deviation", options_.weight_deviation,
              "of the routing weights' initial values, normally distributed; if not set, 1, and "
              "0.1 for a feature map without compat")
      .range(1e-9, 100);
  d.parameter(
      "compat", compat_,
      "routes_softmax repeats an error of well-known ports, to compare with their numbers: "
      "coupling coefficients sum to 1 over the capsules of the input instead of the classes",
      {{"none", Compat::none}, {"routes_softmax", Compat::routes_softmax}});
  d.parameter("attention", options_.attention, "class capsules look at each other");
  declare_primary(d);
  declare_fields(d);
  vocabulary_.declare(d);
  d.offers<MakesCapsules>(*this);
  declare_module(d);
}

void CapsuleModule::declare_primary(Declaration& d) {
  nn::PrimaryCapsules& primary = options_.primary;
  d.parameter("map_height", primary.height, "feature_map: its height, the only one taken")
      .range(1, 4096);
  d.parameter("map_width", primary.width, "the same").range(1, 4096);
  d.parameter("primary_capsules", primary.at_a_place,
              "feature_map: at each place of the convolution")
      .range(1, 4096);
  d.parameter("primary_kernel", primary.kernel, "feature_map: side of the convolution")
      .range(1, 64);
  d.parameter("primary_stride", primary.stride, "feature_map: of the convolution").range(1, 16);
}

void CapsuleModule::declare_fields(Declaration& d) {
  const std::string width = std::to_string(options_.width);
  if (options_.input == nn::CapsuleInput::descriptors) {
    d.needs(field::embedding)
        .contract(options_.width > 0 ? "f32[N," + width + "]" : "f32[N,E]")
        .doc("the descriptors");
  } else {
    const std::string size = std::to_string(options_.primary.height) + "," +
                             std::to_string(options_.primary.width) + "]";
    d.needs(field::feature_map)
        .contract((options_.width > 0 ? "f32[N," + width + "," : "f32[N,C,") + size);
  }
  const std::string classes = std::to_string(options_.classes);
  d.provides(field::capsules)
      .contract("f32[N," + classes + "," + std::to_string(options_.class_capsule_size) + "]")
      .doc("as attention leaves them, not of unit length");
  d.provides(field::class_lengths).contract("f32[N," + classes + "]").doc("before attention");
}

void CapsuleModule::open(Context& context) {
  vocabulary_.open();
  ModuleStage::open(context);
}

nn::CapsuleModule CapsuleModule::make() const {
  if (options_.input == nn::CapsuleInput::descriptors &&
      options_.primary != nn::PrimaryCapsules{}) {
    throw Error(
        "`map_height`, `map_width`, `primary_capsules`, `primary_kernel` and `primary_stride` have "
        "no effect with `input = \"descriptors\"`; remove them, or choose \"feature_map\"",
        Fault::configuration);
  }
  nn::CapsuleModuleOptions all = options_;
  if (compat_ == Compat::routes_softmax) all.routing.softmax = nn::RoutingSoftmax::input_capsules;
  return nn::CapsuleModule(all, nn::generator_seed());
}

void CapsuleModule::forward(nn::CapsuleModule& net, Packet& packet, Context& /*context*/) {
  const nn::CapsuleModuleOutput output = net->forward(
      options_.input == nn::CapsuleInput::descriptors ? packet.get(field::embedding)
                                                      : packet.get(field::feature_map));
  packet.set(field::capsules, output.capsules);
  packet.set(field::class_lengths, output.lengths);
}

}  // namespace seam::stages
