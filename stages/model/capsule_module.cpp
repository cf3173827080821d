#include "stages/model/capsule_module.hpp"

#include <torch/types.h>

#include "stages/model/class_capsules.hpp"
#include "stages/nn/capsule_network.hpp"
#include "stages/nn/initialisation.hpp"

namespace seam::nn {

using torch::Tensor;

std::int64_t CapsuleModuleOptions::routes() const {
  if (width < 1 || capsule_size < 1 || classes < 1 || class_capsule_size < 1) {
    throw Error("the sizes of capsules, and of their input, must be at least 1",
                Fault::configuration);
  }
  if (width % capsule_size != 0) {
    throw Error("descriptors of " + std::to_string(width) +
                    " elements cannot be divided into capsules of " + std::to_string(capsule_size) +
                    "; choose a `capsule_size` that divides them",
                Fault::configuration);
  }
  return width / capsule_size;
}

CapsuleModuleImpl::CapsuleModuleImpl(const CapsuleModuleOptions& options, std::uint64_t seed)
    : options_(options) {
  weight_ = register_parameter("w", normal_values({options_.routes(), options_.capsule_size,
                                                   options_.classes * options_.class_capsule_size},
                                                  options_.weight_deviation.value_or(1), seed, 0));
  if (options_.attention) {
    attention_ = register_module("attention", SelfAttention(options_.class_capsule_size));
  }
}

CapsuleModuleOutput CapsuleModuleImpl::forward(const Tensor& descriptors) {
  if (descriptors.dim() != 2 || descriptors.size(1) != options_.width) {
    throw Error(c10::str("the descriptors are ", descriptors.sizes(), ", and not [N,",
                         options_.width, "]; set `width` to the length of the embedding"),
                Fault::configuration);
  }
  const Tensor u = descriptors.to(weight_.scalar_type())
                       .reshape({descriptors.size(0), -1, options_.capsule_size});
  const Tensor v = probe_.route(u, weight_, options_.classes, options_.routing);
  return {attention_ ? attention_(v) : v, capsule_lengths(v)};
}

}  // namespace seam::nn

namespace seam::stages {

void CapsuleModule::declare(Declaration& d) {
  d.doc(
      "The capsule module of Durmuş et al. (2023): global descriptors are cut into capsules and "
      "routed to class capsules, which then go through self-attention.");
  d.parameter("width", options_.width,
              "length of the embedding, which determines the number of capsules")
      .range(1, 1048576)
      .from_field();
  d.parameter("capsule_size", options_.capsule_size, "size of a capsule").range(1, 1024);
  d.parameter("classes", options_.classes,
              "class capsules: 12 in the paper, as many as Stanford Online Products has categories")
      .range(1, 100000);
  d.parameter("class_capsule_size", options_.class_capsule_size, "size of a class capsule")
      .range(1, 1024);
  declare_own_routing(d, options_.routing, options_.weight_deviation, "1");
  d.parameter("attention", options_.attention,
              "whether to apply self-attention over the class capsules");
  const std::string classes = std::to_string(options_.classes);
  d.needs(field::embedding)
      .contract("f32[N," + dimension_of(options_.width, "width") + "]")
      .doc("the descriptors");
  d.provides(field::capsules)
      .contract("f32[N," + classes + "," + std::to_string(options_.class_capsule_size) + "]")
      .doc("after attention, not of unit length");
  d.provides(field::class_lengths).contract("f32[N," + classes + "]").doc("before attention");
  d.offers<MakesCapsules>(*this);
  declare_classifier(d);
}

nn::CapsuleModule CapsuleModule::make() const {
  return nn::CapsuleModule(options_, nn::generator_seed());
}

void CapsuleModule::forward(nn::CapsuleModule& net, Packet& packet, Context& /*context*/) {
  const nn::CapsuleModuleOutput output = net->forward(packet.get(field::embedding));
  packet.set(field::capsules, output.capsules);
  packet.set(field::class_lengths, output.lengths);
}

}  // namespace seam::stages
