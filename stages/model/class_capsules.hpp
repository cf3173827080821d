/// The parameters and fields that the stages with class capsules share.
#pragma once

#include <seam/declaration.hpp>
#include <seam/tensor.hpp>

#include "stages/model/base/image_size.hpp"
#include "stages/nn/capsule_network.hpp"

namespace seam::stages {

/// For stages that offer CategoryOutputs.
inline void declare_class_number(Declaration& d, nn::NetworkOptions& options) {
  d.parameter("classes", options.classes,
              "class capsules: one per category. If the file omits it, a run that trains takes the "
              "number of categories that the training data names")
      .range(1, 100000);
}

inline void declare_first_convolution(Declaration& d, nn::NetworkOptions& options) {
  d.parameter("channels", options.channels, "number of input channels: 1 (luminance) or 3")
      .range(1, 3);
  declare_image_size(d, options.images.height, options.images.width);
  d.parameter("width", options.width, "channels of the first convolution").range(1, 4096);
  d.parameter("kernel", options.convolutions.kernel, "side of the first convolution").range(1, 64);
  d.parameter("first_stride", options.first_stride, "stride of the first convolution").range(1, 16);
}

inline void declare_routing(Declaration& d, nn::RoutingOptions& routing) {
  d.parameter("iterations", routing.iterations, "routing iterations").range(1, 100);
}

/// For separate weights of each input capsule. `usual` is the distribution of their initial values
/// if `deviation` is unset.
inline void declare_own_routing(
    Declaration& d, nn::RoutingOptions& routing, std::optional<double>& deviation,
    const std::string& usual =
        "Glorot's uniform distribution, or 1 with compat = \"routes_softmax\"") {
  declare_routing(d, routing);
  d.parameter("weight_deviation", deviation,
              "standard deviation of the routing weights' initial values, which are then normally "
              "distributed; default: " +
                  usual)
      .range(1e-9, 100);
  d.parameter("compat", routing.softmax,
              "routes_softmax repeats an error of well-known ports, to compare with their results: "
              "coupling coefficients sum to 1 over the input capsules instead of the class "
              "capsules",
              {{"none", nn::RoutingSoftmax::classes},
               {"routes_softmax", nn::RoutingSoftmax::input_capsules}});
}

/// The fields of a pass; `embedding` describes that of training and evaluation.
inline void provide_class_capsules(Declaration& d, const nn::NetworkOptions& options,
                                   const std::string& embedding) {
  const std::string classes = std::to_string(options.classes);
  d.provides(field::capsules)
      .contract("f32[N," + classes + "," + std::to_string(options.class_capsule_size) + "]");
  d.provides(field::class_lengths).contract("f32[N," + classes + "]");
  d.provides(field::predicted_category);
  d.provides(field::embedding)
      .contract("f32[N," + std::to_string(options.classes * options.class_capsule_size) + "]")
      .doc(embedding);
}

/// Their values; `mask` is that of nn::mask_capsules().
inline void set_class_capsules(Packet& packet, const nn::ClassCapsules& result,
                               const Tensor& mask = {}) {
  packet.set(field::embedding, nn::mask_capsules(result.capsules, mask));
  packet.set(field::capsules, result.capsules);
  packet.set(field::class_lengths, result.lengths);
  packet.set(field::predicted_category, result.predicted);
}

}  // namespace seam::stages
