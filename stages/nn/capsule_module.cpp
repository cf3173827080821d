#include "stages/nn/capsule_module.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include <sstream>
#include <string>

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
