#include "stages/model/capsule_stage.hpp"

#include <algorithm>

#include "stages/counted.hpp"
#include "stages/model/class_capsules.hpp"
#include "stages/nn/initialisation.hpp"

namespace seam::stages {
namespace {

/// Whether the batch consists of triplets, or other groups of images with roles.
bool has_roles(const Packet& packet) {
  return packet.has(field::roles) && std::ranges::any_of(packet.get(field::roles), [](Role role) {
           return role != Role::single;
         });
}

}  // namespace

void CapsuleStage::declare_network(Declaration& d) {
  d.preset("preset", options_, "settings on which the thesis and the released code differ",
           {{"as_released", released_}, {"as_published", published_}});
  declare_sizes(d);
  declare_capsules(d);
  d.parameter("train_mask", train_mask_,
              "which capsules the embedding keeps in training: that of the anchor's category for "
              "all three images of a triplet (released code), that of each image's own category, "
              "or all. auto: the anchor's for triplets, each image's own for other batches",
              {{"auto", TrainMask::automatic},
               {"anchor_category", TrainMask::anchor_category},
               {"own_category", TrainMask::own_category},
               {"none", TrainMask::none}});
  d.parameter(
      "towers", towers_,
      "whether batch statistics are computed separately for anchors, positives and negatives "
      "(released code) or together. auto: separately if images have roles",
      {{"auto", Towers::automatic}, {"by_role", Towers::by_role}, {"together", Towers::together}});
  const std::int64_t least = nn::least_side(options_);
  d.needs(field::images)
      .contract(options_.weights == nn::CapsuleWeights::own
                    ? images_of_size(options_.images.height, options_.images.width, least)
                    : images_of_at_least(least));
  d.accepts(field::categories).doc("in training, for train_mask");
  d.accepts(field::groups).doc("in training, for train_mask");
  d.accepts(field::roles).doc("in training, for train_mask and towers");
  provide_class_capsules(
      d, options_,
      "the concatenated capsules; masked by train_mask in training, all of them in evaluation");
  declare_classifier(d);
}

void CapsuleStage::begin(Context& context) {
  vocabulary().require_one();
  if (context.training()) {
    require_capsule_for_each_category();
    if (context.trainings() == 0) warn_of_categories_without_images(context);
  }
  RoutedStage::begin(context);
}

void CapsuleStage::require_capsule_for_each_category() const {
  const std::int64_t classes = options_.classes;
  const std::int64_t named = vocabulary().named();
  if (named == 0 || named == classes) return;
  const std::string data = "the training data has " + counted(named, "category", "categories");
  const std::string set_classes = "set classes = " + std::to_string(named);
  if (named > classes) {
    throw Error(data + ", but the network has " +
                    counted(classes, "class capsule", "class capsules") +
                    ", and each category needs one; " + set_classes,
                Fault::configuration);
  }
  if (train_mask_ == TrainMask::none) return;
  throw Error(data + ", and train_mask trains only their capsules; the other " +
                  grouped(classes - named) +
                  " would keep their initial weights, although the embedding contains all of them "
                  "in evaluation; " +
                  set_classes + ", or train_mask = \"none\"",
              Fault::configuration);
}

void CapsuleStage::warn_of_categories_without_images(const Context& context) const {
  if (train_mask_ == TrainMask::none) return;
  const std::vector<std::string> missing = vocabulary().without_images();
  if (missing.empty()) return;
  context.warn(counted(missing.size(), "category", "categories") +
               " of the training list without images (" + first_of(missing, 3) +
               "): train_mask trains only the capsules of the images' categories, and theirs keep "
               "their initial weights, although the embedding contains all of them in evaluation; "
               "set train_mask = \"none\", or use a list without these categories");
}

void CapsuleStage::declare_sizes(Declaration& d) {
  declare_class_number(d, options_);
  d.offers<CategoryOutputs>(*this);
  d.parameter("width", options_.width, "channels of the first convolution").range(1, 4096);
  d.parameter("primary_channels", options_.primary_channels,
              "channels of the last convolution, a multiple of capsule_size")
      .range(1, 65536);
  d.parameter("capsule_size", options_.capsule_size, "size of a primary capsule").range(1, 1024);
  d.parameter("class_capsule_size", options_.class_capsule_size, "size of a class capsule")
      .range(1, 1024);
  d.parameter("dropout", options_.dropout, "probability that a whole channel is zeroed in training")
      .range(0, 0.99);
}

void CapsuleStage::declare_capsules(Declaration& d) {
  declare_routing(d, options_.routing);
  d.parameter(
      "squash", options_.routing.squash,
      "function that limits capsules: length²/(1+length²) in their direction, with epsilon within "
      "the root (released code) or after it (thesis)",
      {{"epsilon_in_root", nn::SquashForm::epsilon_in_root},
       {"epsilon_after_root", nn::SquashForm::epsilon_after_root}});
  d.parameter("routing_weights", options_.weights,
              "whether primary capsules share the matrices that predict class capsules, or each "
              "has its own",
              {{"shared", nn::CapsuleWeights::shared}, {"own", nn::CapsuleWeights::own}});
  declare_image_size(d, options_.images.height, options_.images.width,
                     std::pair("routing_weights", "own"));
  d.parameter("norm_axis", options_.norm_axis,
              "axis along which class capsules are scaled to unit length",
              {{"capsule", nn::NormAxis::capsule},
               {"class", nn::NormAxis::class_capsules},
               {"none", nn::NormAxis::none}});
}

nn::CapsuleNetwork CapsuleStage::make() const {
  return nn::CapsuleNetwork(options_, nn::generator_seed());
}

torch::MemoryFormat CapsuleStage::memory_format() const {
  return options_.features == nn::FeatureKind::stacked_convolutional
             ? torch::MemoryFormat::Contiguous
             : torch::MemoryFormat::ChannelsLast;
}

nn::ClassCapsules CapsuleStage::train(nn::CapsuleNetwork& net, const Packet& packet,
                                      const Context& context) const {
  const Tensor& images = packet.get(field::images);
  const nn::DropoutKey key{context.seed(), stream_of(context.stage()),
                           static_cast<std::uint64_t>(context.epoch()), packet.sequence()};
  const bool roles_arrive = has_roles(packet);
  if (towers_ == Towers::together || (towers_ == Towers::automatic && !roles_arrive)) {
    return net->forward(images, key);
  }
  if (!roles_arrive) {
    throw Error(
        "`towers = \"by_role\"` normalises anchors, positives and negatives separately, but no "
        "image has a role; set towers = \"together\", or put a sampler into the flow that gives "
        "roles, such as sampling.triplets",
        Fault::configuration);
  }
  std::vector<std::int64_t> tower;
  for (const Role role : packet.get(field::roles)) tower.push_back(static_cast<std::int64_t>(role));
  return net->forward_towers(images, tower, key);
}

Tensor CapsuleStage::training_mask(const Packet& packet) const {
  if (train_mask_ == TrainMask::none) return {};
  const std::vector<std::int64_t>& own = packet.get(field::categories);
  const bool own_ones = train_mask_ == TrainMask::own_category ||
                        (train_mask_ == TrainMask::automatic && !has_roles(packet));
  if (own_ones) return torch::tensor(own, torch::kInt64);
  return torch::tensor(anchor_categories(own, packet.get(field::groups), packet.get(field::roles)),
                       torch::kInt64);
}

void CapsuleStage::forward(nn::CapsuleNetwork& net, Packet& packet, Context& context) {
  const bool training = context.training();
  const nn::ClassCapsules result =
      training ? train(net, packet, context) : net->forward(packet.get(field::images));
  set_class_capsules(packet, result, training ? training_mask(packet) : Tensor());
}

std::vector<std::int64_t> anchor_categories(const std::vector<std::int64_t>& categories,
                                            const std::vector<std::int64_t>& groups,
                                            const std::vector<Role>& roles) {
  std::map<std::int64_t, std::int64_t> of_group;
  for (std::size_t row = 0; row < categories.size(); ++row) {
    if (roles[row] != Role::anchor) continue;
    if (!of_group.emplace(groups[row], categories[row]).second) {
      throw Error(
          "group " + std::to_string(groups[row]) +
          " contains two anchors, but `train_mask = \"anchor_category\"` needs one per group");
    }
  }
  std::vector<std::int64_t> result;
  result.reserve(categories.size());
  for (const std::int64_t group : groups) {
    const auto found = of_group.find(group);
    if (found == of_group.end()) {
      throw Error(
          "`train_mask = \"anchor_category\"` keeps the capsule of the anchor's category, "
          "but group " +
              std::to_string(group) +
              " has no anchor; set train_mask = \"own_category\" or \"none\", or put a "
              "sampler into the flow that gives roles, such as sampling.triplets",
          Fault::configuration);
    }
    result.push_back(found->second);
  }
  return result;
}

}  // namespace seam::stages
