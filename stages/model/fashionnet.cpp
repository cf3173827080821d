#include "stages/model/fashionnet.hpp"

#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/pooling.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/error.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "stages/landmark_tensors.hpp"
#include "stages/nn/dropout.hpp"
#include "stages/nn/embedding.hpp"

namespace seam::nn {
namespace {

using torch::nn::Sequential;

constexpr std::int64_t vgg_blocks = 5;
constexpr std::array<std::int64_t, vgg_blocks> convolutions{2, 2, 3, 3, 3};  // VGG-16's
constexpr std::int64_t reduction = 32;                                       // by five poolings

void add_pooling(Sequential& layers) {
  layers->push_back(torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(2)));
}

/// The 3x3 convolutions of a block and what follows each; returns the channels of the last.
std::int64_t add_vgg_block(Sequential& layers, std::size_t block, std::int64_t in,
                           const FashionNetOptions& options) {
  for (std::int64_t at = 0; at < convolutions.at(block); ++at) {
    const std::int64_t out = options.channels[block];
    layers->push_back(Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1)));
    if (options.batch_norm) layers->push_back(BatchNorm2d(out));
    layers->push_back(torch::nn::ReLU(torch::nn::ReLUOptions(true)));
    in = out;
  }
  return in;
}

void refuse(const std::string& what) {
  throw Error(what, Fault::configuration);
}

std::string size_text(std::int64_t height, std::int64_t width) {
  return "width " + std::to_string(width) + " and height " + std::to_string(height);
}

}  // namespace

FashionNetImpl::FashionNetImpl(FashionNetOptions options) : options_(std::move(options)) {
  if (options_.channels.size() != vgg_blocks ||
      *std::min_element(options_.channels.begin(), options_.channels.end()) < 1) {
    refuse(
        "'channels' needs five numbers of at least 1, for conv1 to conv5; VGG-16 has 64, 128, 256, "
        "512, 512");
  }
  if (options_.image_height < reduction || options_.image_width < reduction) {
    refuse("images of " + size_text(options_.image_height, options_.image_width) +
           " are too small: five poolings reduce a side of 32 to one pixel");
  }
  make_layers();
  initialise();
}

void FashionNetImpl::make_layers() {
  features_ = Sequential();
  std::int64_t channels = 3;
  for (std::size_t block = 0; block + 1 < vgg_blocks; ++block) {
    if (block > 0) add_pooling(features_);
    channels = add_vgg_block(features_, block, channels, options_);
  }
  register_module("features", features_);
  const auto last_block = [&](const char* name) {
    Sequential layers;
    add_vgg_block(layers, vgg_blocks - 1, channels, options_);
    add_pooling(layers);
    return register_module(name, layers);
  };
  const auto dense = [this](const char* name, std::int64_t in, std::int64_t out) {
    return register_module(name, Linear(in, out));
  };
  const FashionNetOptions& o = options_;
  const std::int64_t flat =
      o.channels.back() * (o.image_height / reduction) * (o.image_width / reduction);
  const std::int64_t pooled = landmarks * channels * o.region.grid * o.region.grid;
  conv5_pose_ = last_block("conv5_pose");
  fc6_pose_ = dense("fc6_pose", flat, o.pose_features);
  fc7_pose_ = dense("fc7_pose", o.pose_features, o.pose_features);
  landmarks_ = dense("landmarks", o.pose_features, landmarks * 2);
  visibility_ = dense("visibility", o.pose_features, landmarks * states);
  fc6_local_ = dense("fc6_local", pooled, o.local_features);
  conv5_global_ = last_block("conv5_global");
  fc6_global_ = dense("fc6_global", flat, o.global_features);
  fc7_fusion_ = dense("fc7_fusion", o.global_features + o.local_features, o.fusion_features);
  if (o.classes > 0) category_ = dense("category", o.fusion_features, o.classes);
  if (o.attributes > 0) attributes_ = dense("attributes", o.fusion_features, o.attributes);
}

/// He's initialisation for layers followed by a ReLU; the output layers keep LibTorch's, except
/// that landmarks are first predicted in the centre.
void FashionNetImpl::initialise() {
  const torch::NoGradGuard no_gradient;
  const auto he = [](const Tensor& weight, const Tensor& bias) {
    torch::nn::init::kaiming_normal_(weight, 0, torch::kFanIn, torch::kReLU);
    torch::nn::init::zeros_(bias);
  };
  for (const auto& module : modules(/*include_self=*/false)) {
    if (const auto* layer = module->as<torch::nn::Conv2d>()) he(layer->weight, layer->bias);
  }
  for (const Linear& layer : {fc6_pose_, fc7_pose_, fc6_local_, fc6_global_, fc7_fusion_}) {
    he(layer->weight, layer->bias);
  }
  landmarks_->bias.fill_(0.5);
}

Tensor FashionNetImpl::dropped(const Tensor& x) const {
  if (!is_training() || options_.dropout == 0) return x;
  return x * spatial_dropout(x.size(0), x.size(1), options_.dropout, DropoutKey::drawn(), 0)
                 .to(x.device(), x.scalar_type());
}

FashionNetOutput FashionNetImpl::forward(const Tensor& images) {
  if (images.size(2) != options_.image_height || images.size(3) != options_.image_width) {
    refuse("the images have " + size_text(images.size(2), images.size(3)) +
           ", but the network is for " + size_text(options_.image_height, options_.image_width) +
           "; resize them, or set image_height and image_width");
  }
  const std::int64_t rows = images.size(0);
  FashionNetOutput out;
  const Tensor conv4 = features_->forward(images);
  const Tensor pool4 = torch::max_pool2d(conv4, 2);

  Tensor pose = dropped(fc6_pose_(conv5_pose_->forward(pool4).flatten(1)).relu());
  pose = dropped(fc7_pose_(pose).relu());
  out.landmarks = landmarks_(pose).view({rows, landmarks, 2});
  out.visibility_logits = visibility_(pose).view({rows, landmarks, states});

  const Tensor visible = out.visibility_logits.detach().argmax(-1) == 0;
  const Tensor around = landmark_pooling(conv4, out.landmarks, visible, options_.region);
  const Tensor local = dropped(fc6_local_(around.flatten(1)).relu());
  const Tensor global = dropped(fc6_global_(conv5_global_->forward(pool4).flatten(1)).relu());
  const Tensor fusion = fc7_fusion_(torch::cat({global, local}, 1));

  out.embedding = options_.unit_length ? unit(fusion.to(images.scalar_type())) : fusion;
  if (!category_ && !attributes_) return out;
  const Tensor described = dropped(fusion.relu());
  if (category_) out.category_logits = category_(described);
  if (attributes_) out.attribute_logits = attributes_(described);
  return out;
}

}  // namespace seam::nn

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
  if (options_.attributes > 0) {
    d.provides(field::attribute_logits)
        .contract("f32[N," + std::to_string(options_.attributes) + "]");
  }
  declare_classifier(d);
}

void FashionNet::forward(nn::FashionNet& net, Packet& packet, Context& /*context*/) {
  const nn::FashionNetOutput out = net->forward(packet.get(field::images));
  packet.set(field::embedding, out.embedding);
  packet.set(field::predicted_landmarks, out.landmarks);
  packet.set(field::visibility_logits, out.visibility_logits);
  if (out.category_logits.defined()) packet.set(field::logits, out.category_logits);
  if (out.attribute_logits.defined()) packet.set(field::attribute_logits, out.attribute_logits);
}

}  // namespace seam::stages
