#include "stages/model/capsnet.hpp"

#include "stages/model/class_capsules.hpp"
#include "stages/nn/initialisation.hpp"

namespace seam::stages {

Capsnet::Capsnet() {
  options_.features = nn::FeatureKind::one_convolution;
  options_.classes = 10;
  options_.width = 256;
  options_.first_stride = 1;
  options_.capsule_size = 8;
  options_.channels = 1;
  options_.dropout = 0;
  options_.weights = nn::CapsuleWeights::own;
  options_.routing.logits = nn::Logits::accumulate;
  options_.norm_axis = nn::NormAxis::none;
}

void Capsnet::declare(Declaration& d) {
  d.doc(
      "The capsule network of Sabour et al. (2017): a convolution, primary capsules, and dynamic "
      "routing to one capsule per class, whose length shows how much of the class is in the image. "
      "Each primary capsule has its own weights, so all images must have the same size.");
  declare_class_number(d, options_);
  d.offers<CategoryOutputs>(*this);
  declare_first_convolution(d, options_);
  d.parameter("primary_capsules", primary_capsules_,
              "primary capsules at each position of the second convolution")
      .range(1, 4096);
  d.parameter("capsule_size", options_.capsule_size, "size of a primary capsule").range(1, 1024);
  d.parameter("primary_kernel", options_.convolutions.primary_kernel,
              "side of the second convolution, whose channels are the primary capsules")
      .range(1, 64);
  d.parameter("primary_stride", options_.convolutions.primary_stride,
              "stride of the second convolution")
      .range(1, 16);
  d.parameter("class_capsule_size", options_.class_capsule_size, "size of a class capsule")
      .range(1, 1024);
  declare_own_routing(d, options_.routing, options_.weight_deviation);
  d.needs(field::images)
      .contract(
          images_of_size(options_.images.height, options_.images.width, nn::least_side(options_)));
  provide_class_capsules(d, options_, "the concatenated capsules");
  declare_classifier(d);
}

void Capsnet::begin(Context& context) {
  vocabulary().require_one();
  RoutedStage::begin(context);
}

nn::CapsuleNetwork Capsnet::make() const {
  nn::NetworkOptions all = options_;
  all.primary_channels = primary_capsules_ * options_.capsule_size;
  return nn::CapsuleNetwork(all, nn::generator_seed());
}

void Capsnet::forward(nn::CapsuleNetwork& net, Packet& packet, Context& /*context*/) {
  set_class_capsules(packet, net->forward(packet.get(field::images), nn::DropoutKey{}));
}

}  // namespace seam::stages
