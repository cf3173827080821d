#include "stages/model/capsule_module.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include <seam/contract.hpp>
#include <seam/error.hpp>

#include <sstream>
#include <string>

#include "stages/model/declare_routing.hpp"
#include "stages/nn/capsule_network.hpp"
#include "stages/nn/feature_map.hpp"
#include "stages/nn/initialisation.hpp"
#include "stages/nn/squash.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

/// The side of a map after a convolution without padding.
std::int64_t places(std::int64_t side, const PrimaryCapsules& primary) {
  return (side - primary.kernel) / primary.stride + 1;
}

}  // namespace

std::int64_t CapsuleModuleOptions::routes() const {
  if (width < 1 || capsule_size < 1 || classes < 1 || class_capsule_size < 1) {
    throw Error("the sizes of capsules, and of their input, must be at least 1",
                Fault::configuration);
  }
  if (input == CapsuleInput::descriptors) {
    if (width % capsule_size != 0) {
      throw Error("descriptors of " + std::to_string(width) +
                      " elements cannot be divided into capsules of " +
                      std::to_string(capsule_size) + "; choose a `capsule_size` that divides them",
                  Fault::configuration);
    }
    return width / capsule_size;
  }
  if (primary.kernel < 1 || primary.stride < 1 || primary.at_a_place < 1 ||
      primary.height < primary.kernel || primary.width < primary.kernel) {
    throw Error(
        "a map of " + std::to_string(primary.width) + "x" + std::to_string(primary.height) +
            " (width x height) is smaller than the convolution of " +
            std::to_string(primary.kernel) + "x" + std::to_string(primary.kernel) +
            " that makes capsules from it; set `map_height` and `map_width` to those of the "
            "feature map, or a smaller `primary_kernel`",
        Fault::configuration);
  }
  return primary.at_a_place * places(primary.height, primary) * places(primary.width, primary);
}

CapsuleModuleImpl::CapsuleModuleImpl(const CapsuleModuleOptions& options, std::uint64_t seed)
    : options_(options) {
  const bool of_map = options_.input == CapsuleInput::feature_map;
  const bool squashed = of_map && options_.routing.softmax == RoutingSoftmax::classes;
  weight_ = register_parameter(
      "w", normal_values({options_.routes(), options_.capsule_size,
                          options_.classes * options_.class_capsule_size},
                         options_.weight_deviation.value_or(squashed ? 0.1 : 1.0), seed, 0));
  if (of_map) {
    const PrimaryCapsules& primary = options_.primary;
    primary_ = register_module(
        "primary",
        Conv2d(torch::nn::Conv2dOptions(options_.width, primary.at_a_place * options_.capsule_size,
                                        primary.kernel)
                   .stride(primary.stride)));
  }
  if (options_.attention) {
    attention_ = register_module("attention", SelfAttention(options_.class_capsule_size));
  }
}

Tensor CapsuleModuleImpl::capsules_of(const Tensor& input) {
  if (options_.input == CapsuleInput::descriptors) {
    if (input.dim() != 2 || input.size(1) != options_.width) {
      std::ostringstream text;
      text << "the descriptors are " << input.sizes() << ", and not [N," << options_.width
           << "]; set `width` to the length of the embedding";
      throw Error(text.str(), Fault::configuration);
    }
    return input.to(weight_.scalar_type()).reshape({input.size(0), -1, options_.capsule_size});
  }
  check_feature_map(input, options_.width);
  const PrimaryCapsules& primary = options_.primary;
  if (input.size(2) != primary.height || input.size(3) != primary.width) {
    throw Error("the feature map is " + std::to_string(input.size(3)) + "x" +
                    std::to_string(input.size(2)) + ", but the capsules have weights for " +
                    std::to_string(primary.width) + "x" + std::to_string(primary.height) +
                    " (width x height); set `map_width` and `map_height`, or resize the images",
                Fault::configuration);
  }
  const Tensor map = primary_(input).to(weight_.scalar_type());
  return squash(group_capsules(map, options_.capsule_size), options_.routing.squash,
                options_.routing.epsilon);
}

CapsuleModuleOutput CapsuleModuleImpl::forward(const Tensor& input) {
  const Tensor v = route(capsules_of(input), weight_, options_.classes, options_.routing);
  return {attention_ ? attention_(v) : v, capsule_lengths(v)};
}

}  // namespace seam::nn

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
      .from_field();
  d.parameter("capsule_size", options_.capsule_size, "size of a capsule").range(1, 1024);
  d.parameter("classes", options_.classes,
              "class capsules: 12 in the paper, as many as Stanford Online Products has categories")
      .range(1, 100000);
  d.parameter("class_capsule_size", options_.class_capsule_size, "size of a class capsule")
      .range(1, 1024);
  declare_own_routing(d, options_.routing, options_.weight_deviation,
                      "1, or 0.1 for a feature map without compat");
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
  const auto size = [&](const char* name, std::int64_t& member, double most, const char* doc) {
    d.parameter(name, member, doc).range(1, most).only_with("input", "feature_map");
  };
  size("map_height", primary.height, 4096, "height of the map; no other size is accepted");
  size("map_width", primary.width, 4096, "width of the map");
  size("primary_capsules", primary.at_a_place, 4096,
       "primary capsules at each position of the convolution");
  size("primary_kernel", primary.kernel, 64, "side of the convolution");
  size("primary_stride", primary.stride, 16, "stride of the convolution");
}

void CapsuleModule::declare_fields(Declaration& d) {
  const std::string width = dimension_of(options_.width, "width");
  if (options_.input == nn::CapsuleInput::descriptors) {
    d.needs(field::embedding).contract("f32[N," + width + "]").doc("the descriptors");
  } else {
    const std::string size =
        std::to_string(options_.primary.height) + "," + std::to_string(options_.primary.width);
    d.needs(field::feature_map).contract("f32[N," + width + "," + size + "]");
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
  return nn::CapsuleModule(options_, nn::generator_seed());
}

void CapsuleModule::forward(nn::CapsuleModule& net, Packet& packet, Context& /*context*/) {
  const nn::CapsuleModuleOutput output = net->forward(
      options_.input == nn::CapsuleInput::descriptors ? packet.get(field::embedding)
                                                      : packet.get(field::feature_map));
  packet.set(field::capsules, output.capsules);
  packet.set(field::class_lengths, output.lengths);
}

}  // namespace seam::stages
