#include "stages/model/fashionnet.hpp"

#include "stages/landmark_tensors.hpp"

namespace seam::stages {

void FashionNet::declare(Declaration& d) {
  d.doc(
      "FashionNet (Liu et al. 2016): VGG-16 up to conv4, then three branches: one predicts the "
      "landmarks of clothes and whether they are visible, one uses the features around those "
      "landmarks, and one the whole image.");
  const auto size = [&d](const char* parameter, std::int64_t& member, const char* doc,
                         double least = 1) {
    d.parameter(parameter, member, doc).range(least, 1 << 20);
  };
  d.parameter("channels", options_.channels, "channels of conv1 to conv5: five numbers")
      .range(1, 65536);
  d.parameter(
      "batch_norm", options_.batch_norm,
      "batch normalisation after each convolution, as in vgg16_bn: for training from scratch");
  d.parameter("image_height", options_.image_height, "height of the images, on which fc6 depends")
      .range(32, 8192)
      .unit("px");
  d.parameter("image_width", options_.image_width, "width of the images, likewise")
      .range(32, 8192)
      .unit("px");
  d.parameter("region_grid", options_.region.grid,
              "parts, in each direction, of the region around a landmark on conv4's map")
      .range(1, 64);
  d.parameter("region_window", options_.region.window,
              "cells of a part in each direction; their largest value is used")
      .range(1, 64);
  size("pose_features", options_.pose_features, "units of fc6_pose and fc7_pose");
  size("local_features", options_.local_features, "units of fc6_local");
  size("global_features", options_.global_features, "units of fc6_global");
  size("fusion_features", options_.fusion_features,
       "units of fc7_fusion: the length of the embedding");
  d.parameter("dropout", options_.dropout, "probability that a unit is zeroed in training")
      .range(0, 0.99);
  d.parameter("unit_length", options_.unit_length, "whether to scale the embedding to length 1");
  size("classes", options_.classes, "number of categories of the classifier; 0: no classifier", 0);
  size("attributes", options_.attributes, "number of attributes to predict; 0: none", 0);
  d.needs(field::images);
  d.provides(field::embedding).contract("f32[N," + std::to_string(options_.fusion_features) + "]");
  d.provides(field::predicted_landmarks);
  d.provides(field::visibility_logits);
  if (options_.classes > 0) {
    d.provides(field::logits).contract("f32[N," + std::to_string(options_.classes) + "]");
  }
  vocabulary_.declare(d);  // even if classes are not set yet: offers are read only once
  if (options_.attributes > 0) {
    d.provides(field::attribute_logits)
        .contract("f32[N," + std::to_string(options_.attributes) + "]");
  }
  declare_module(d);
}

void FashionNet::open(Context& context) {
  vocabulary_.open();
  ModuleStage::open(context);
}

nn::FashionNet FashionNet::make() const {
  return nn::FashionNet(options_);
}

void FashionNet::forward(nn::FashionNet& net, Packet& packet, Context& /*context*/) {
  const nn::FashionNetOutput out = net->forward(packet.get(field::images));
  packet.set(field::embedding, out.embedding);
  packet.set(field::predicted_landmarks, out.landmarks);
  packet.set(field::visibility_logits, out.visibility_logits);
  if (out.category_logits.defined()) packet.set(field::logits, out.category_logits);
  if (out.attribute_logits.defined()) packet.set(field::attribute_logits, out.attribute_logits);
}

std::vector<std::string> FashionNet::without_place() const {
  return {"classifier.*"};  // VGG-16's
}

}  // namespace seam::stages
