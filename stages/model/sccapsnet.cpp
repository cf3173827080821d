#include "stages/model/sccapsnet.hpp"

#include <map>
#include <string>

#include "stages/nn/initialisation.hpp"

namespace seam::stages {

void Sccapsnet::declare(Declaration& d) {
  d.doc(
      "SCCapsNet, the stacked-convolution capsule network for clothing retrieval (Kınlı 2019). "
      "Four 7x7 convolutions of stride 2, primary capsules, dynamic routing with one weight matrix "
      "that all input capsules share. With the defaults it has 2,425,536 numbers. Any image size.");
  d.parameter(
      "preset", preset_,
      "where the thesis and the released code differ: LeakyReLU 0.1 and accumulated logits, or "
      "ReLU and replaced logits",
      {{"as_published", Preset::as_published}, {"as_released", Preset::as_released}});
  d.parameter("classes", options_.classes, "class capsules: one a category").range(1, 100000);
  d.parameter("width", options_.width, "channels of the first convolution").range(1, 4096);
  d.parameter("primary_channels", options_.primary_channels,
              "channels of the last convolution; a multiple of capsule_size")
      .range(1, 65536);
  d.parameter("capsule_size", options_.capsule_size, "numbers of a primary capsule").range(1, 1024);
  d.parameter("class_capsule_size", options_.class_capsule_size, "numbers of a class capsule")
      .range(1, 1024);
  d.parameter("slope", slope_, "of LeakyReLU below zero; the preset's if unset, 0 for ReLU")
      .range(0, 1);
  d.parameter("dropout", options_.dropout, "probability that a whole channel is zeroed in training")
      .range(0, 0.99);
  d.parameter("iterations", iterations_, "of routing").range(1, 100);
  d.parameter("gradient", options_.routing.gradient, "how far through routing the gradient goes",
              {{"all_iterations", nn::RoutingGradient::all_iterations},
               {"last_iteration", nn::RoutingGradient::last_iteration}});
  d.parameter("routing", options_.routing.form,
              "factored never makes the predictions of single capsules; the same numbers",
              {{"factored", nn::RoutingForm::factored}, {"direct", nn::RoutingForm::direct}});
  d.parameter("norm_axis", options_.norm_axis, "over which axis class capsules get unit length",
              {{"capsule", nn::NormAxis::capsule}, {"class", nn::NormAxis::class_capsules}});
  d.parameter(
      "train_mask", train_mask_,
      "which capsule the embedding keeps in training: that of the anchor's category for all "
      "three pictures of a triplet (released code), of each picture's own, or all",
      {{"anchor_category", TrainMask::anchor_category},
       {"own_category", TrainMask::own_category},
       {"none", TrainMask::none}});
  d.parameter(
      "towers", towers_,
      "batch statistics of anchors, positives and negatives apart (released code) or together",
      {{"by_role", Towers::by_role}, {"together", Towers::together}});
  d.needs(field::images);
  d.accepts(field::categories).doc("in training, for train_mask");
  d.accepts(field::groups).doc("in training, for train_mask");
  d.accepts(field::roles).doc("in training, for train_mask and towers");
  const std::string classes = std::to_string(options_.classes);
  const std::string size = std::to_string(options_.class_capsule_size);
  d.provides(field::capsules).contract("f32[N," + classes + "," + size + "]");
  d.provides(field::class_lengths).contract("f32[N," + classes + "]");
  d.provides(field::predicted_category);
  d.provides(field::embedding)
      .contract("f32[N," + std::to_string(options_.classes * options_.class_capsule_size) + "]")
      .doc("the capsules in a row; masked by train_mask in training, all of them in evaluation");
  declare_module(d);
}

nn::CapsuleNetwork Sccapsnet::make() const {
  nn::NetworkOptions options = preset_ == Preset::as_published
                                   ? nn::sccapsnet_as_published(options_)
                                   : nn::sccapsnet_as_released(options_);
  options.routing.iterations = iterations_;
  if (slope_) {
    options.activation = nn::Activation::leaky_relu;
    options.slope = *slope_;
  }
  return nn::CapsuleNetwork(options, nn::generator_seed());
}

nn::ClassCapsules Sccapsnet::train(nn::CapsuleNetwork& net, const Packet& packet,
                                   const Context& context) const {
  const Tensor& images = packet.get(field::images);
  const nn::DropoutKey key{context.seed(), stream_of(context.stage()),
                           static_cast<std::uint64_t>(context.epoch()), packet.sequence()};
  if (towers_ == Towers::together) return net->forward(images, key);
  std::vector<std::int64_t> tower;
  for (const Role role : packet.get(field::roles)) {
    tower.push_back(static_cast<std::int64_t>(role));
  }
  return net->forward_towers(images, tower, key);
}

Tensor Sccapsnet::training_mask(const Packet& packet) const {
  if (train_mask_ == TrainMask::none) return {};
  const std::vector<std::int64_t>& own = packet.get(field::categories);
  if (train_mask_ == TrainMask::own_category) return torch::tensor(own, torch::kInt64);
  return torch::tensor(anchor_categories(own, packet.get(field::groups), packet.get(field::roles)),
                       torch::kInt64);
}

void Sccapsnet::forward(nn::CapsuleNetwork& net, Packet& packet, Context& context) {
  const bool training = context.training();
  const nn::ClassCapsules result =
      training ? train(net, packet, context) : net->forward(packet.get(field::images));
  const Tensor mask = training ? training_mask(packet) : Tensor();
  packet.set(field::embedding, nn::mask_capsules(result.capsules, mask));
  packet.set(field::capsules, result.capsules);
  packet.set(field::class_lengths, result.lengths);
  packet.set(field::predicted_category, result.predicted);
}

std::vector<std::int64_t> anchor_categories(const std::vector<std::int64_t>& categories,
                                            const std::vector<std::int64_t>& groups,
                                            const std::vector<Role>& roles) {
  std::map<std::int64_t, std::int64_t> of_group;
  for (std::size_t row = 0; row < categories.size(); ++row) {
    if (roles[row] == Role::anchor) of_group[groups[row]] = categories[row];
  }
  std::vector<std::int64_t> result = categories;
  for (std::size_t row = 0; row < categories.size(); ++row) {
    if (const auto found = of_group.find(groups[row]); found != of_group.end()) {
      result[row] = found->second;
    }
  }
  return result;
}

}  // namespace seam::stages
