#include "stages/model/capsule_module.hpp"

#include <seam/error.hpp>

#include <string>

#include "stages/nn/initialisation.hpp"

namespace seam::stages {

void CapsuleModule::declare(Declaration& d) {
  d.doc(
      "The capsule module of Durmuş et al. (2023): global descriptors are cut into capsules and "
      "routed to class capsules, which then go through self-attention. Alternatively, primary "
      "capsules of a feature map are routed, as in other capsule networks (type C of the paper).");
  d.parameter("input", options_.input,
              "source of the capsules: the embedding of model.descriptors, in pieces of "
              "capsule_size, or the feature map, by a convolution into primary capsules",
              {{"descriptors", nn::CapsuleInput::descriptors},
               {"feature_map", nn::CapsuleInput::feature_map}});
  d.parameter("width", options_.width,
              "width of the input: the length of the embedding, which determines the number of "
              "capsules, or the channels of the feature map")
      .range(1, 1048576)
      .required();
  d.parameter("capsule_size", options_.capsule_size, "size of a capsule").range(1, 1024);
  d.parameter("classes", options_.classes,
              "class capsules: 12 in the paper, as many as Stanford Online Products has categories")
      .range(1, 100000);
  d.parameter("class_capsule_size", options_.class_capsule_size, "size of a class capsule")
      .range(1, 1024);
  d.parameter("iterations", options_.routing.iterations, "routing iterations").range(1, 100);
  d.parameter("gradient", options_.routing.gradient,
              "how many routing iterations are differentiated: all, or only the last one",
              {{"all_iterations", nn::RoutingGradient::all_iterations},
               {"last_iteration", nn::RoutingGradient::last_iteration}});
  d.parameter("weight_deviation", options_.weight_deviation,
              "standard deviation of the routing weights' initial values, which are normally "
              "distributed; default: 1, or 0.1 for a feature map without compat")
      .range(1e-9, 100);
  d.parameter(
      "compat", compat_,
      "routes_softmax repeats an error of well-known ports, to compare with their results: "
      "coupling coefficients sum to 1 over the capsules of the input instead of the classes",
      {{"none", Compat::none}, {"routes_softmax", Compat::routes_softmax}});
  d.parameter("attention", options_.attention,
              "whether to apply self-attention over the class capsules");
  declare_primary(d);
  declare_fields(d);
  vocabulary_.declare(d);
  d.offers<MakesCapsules>(*this);
  declare_module(d);
}

void CapsuleModule::declare_primary(Declaration& d) {
  nn::PrimaryCapsules& primary = options_.primary;
  d.parameter("map_height", primary.height, "feature_map: its height; no other size is accepted")
      .range(1, 4096);
  d.parameter("map_width", primary.width, "feature_map: its width").range(1, 4096);
  d.parameter("primary_capsules", primary.at_a_place,
              "feature_map: primary capsules at each position of the convolution")
      .range(1, 4096);
  d.parameter("primary_kernel", primary.kernel, "feature_map: side of the convolution")
      .range(1, 64);
  d.parameter("primary_stride", primary.stride, "feature_map: stride of the convolution")
      .range(1, 16);
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
      .doc("after attention, not of unit length");
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
