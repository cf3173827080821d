#include "stages/model/capsule_stage.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include <seam/error.hpp>

#include "stages/counted.hpp"
#include "stages/nn/initialisation.hpp"

namespace seam::stages {
namespace {

/// If both presets agree, their value is the parameter's default; otherwise its text names both.
template <class T>
std::string agreed(std::optional<T>& member, T published, T released) {
  if (published == released) {
    if (!member) member = published;
    return {};
  }
  std::ostringstream text;
  text << "; default: " << published << " as published and " << released << " as released";
  return text.str();
}

void refuse_without_effect(bool set, const char* parameter, const char* where) {
  if (!set) return;
  throw Error("`" + std::string(parameter) + "` has no effect " + where + "; remove it",
              Fault::configuration);
}

/// Whether the batch consists of triplets, or other groups of images with roles.
bool has_roles(const Packet& packet) {
  return packet.has(field::roles) && std::ranges::any_of(packet.get(field::roles), [](Role role) {
           return role != Role::single;
         });
}

template <class T>
void override_with(const std::optional<T>& value, T& member) {
  if (value) member = *value;
}

}  // namespace

void CapsuleStage::declare_network(Declaration& d) {
  const nn::NetworkOptions published = preset(Preset::as_published);
  const nn::NetworkOptions released = preset(Preset::as_released);
  d.parameter("preset", preset_,
              "settings on which the thesis and the released code differ; each can also be set "
              "individually",
              {{"as_published", Preset::as_published}, {"as_released", Preset::as_released}});
  declare_sizes(d, published, released);
  declare_layers(d);
  declare_routing(d);
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
  d.needs(field::images);
  d.accepts(field::categories).doc("in training, for train_mask");
  d.accepts(field::groups).doc("in training, for train_mask");
  d.accepts(field::roles).doc("in training, for train_mask and towers");
  const nn::NetworkOptions all = options();
  const std::string classes = std::to_string(all.classes);
  d.provides(field::capsules)
      .contract("f32[N," + classes + "," + std::to_string(all.class_capsule_size) + "]");
  d.provides(field::class_lengths).contract("f32[N," + classes + "]");
  d.provides(field::predicted_category);
  d.provides(field::embedding)
      .contract("f32[N," + std::to_string(all.classes * all.class_capsule_size) + "]")
      .doc(
          "the concatenated capsules; masked by train_mask in training, all of them in evaluation");
  vocabulary_.declare(d);
  declare_module(d);
}

void CapsuleStage::open(Context& context) {
  vocabulary_.open();
  ModuleStage::open(context);
}

void CapsuleStage::begin(Context& context) {
  vocabulary_.require_one();
  if (context.training()) require_capsule_for_each_category();
  ModuleStage::begin(context);
}

void CapsuleStage::require_capsule_for_each_category() const {
  const std::int64_t classes = options().classes;
  const std::int64_t named = vocabulary_.named();
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

void CapsuleStage::declare_sizes(Declaration& d, const nn::NetworkOptions& published,
                                 const nn::NetworkOptions& released) {
  const auto size = [&](const char* name, std::optional<std::int64_t>& member, const char* doc,
                        std::int64_t nn::NetworkOptions::*option, double most) {
    const std::string which = agreed(member, published.*option, released.*option);
    d.parameter(name, member, doc + which).range(1, most);
  };
  using Options = nn::NetworkOptions;
  d.parameter("features", features_,
              "convolutions before the capsules: those of the preset, of SCCapsNet, of RCCapsNet, "
              "of the first capsule network (Sabour et al. 2017), or of the first SCCapsNet-CLS",
              {{"preset", Features::preset},
               {"stacked_convolutional", Features::stacked_convolutional},
               {"residual", Features::residual},
               {"one_convolution", Features::one_convolution},
               {"stacked_valid", Features::stacked_valid}});
  size("classes", classes_, "class capsules: one per category", &Options::classes, 100000);
  size("width", width_, "channels of the first convolution", &Options::width, 4096);
  size("primary_channels", primary_channels_,
       "channels of the last convolution, a multiple of capsule_size", &Options::primary_channels,
       65536);
  size("capsule_size", capsule_size_, "size of a primary capsule", &Options::capsule_size, 1024);
  size("class_capsule_size", class_capsule_size_, "size of a class capsule",
       &Options::class_capsule_size, 1024);
  const std::string which = agreed(dropout_, published.dropout, released.dropout);
  d.parameter("dropout", dropout_, "probability that a whole channel is zeroed in training" + which)
      .range(0, 0.99);
  d.parameter("first_stride", first_stride_,
              "stride of the first convolution; default: the preset's value or, if it has none, 2 "
              "with padding and 1 without")
      .range(1, 16);
}

void CapsuleStage::declare_layers(Declaration& d) {
  d.parameter("activation", activation_, "activation of the convolutions outside residual blocks",
              {{"preset", ActivationChoice::preset},
               {"relu", ActivationChoice::relu},
               {"leaky_relu", ActivationChoice::leaky_relu}});
  d.parameter("last_padding", last_padding_,
              "padding of the last convolution with features = \"stacked_valid\": none, or "
              "TensorFlow's \"SAME\"",
              {{"preset", PaddingChoice::preset},
               {"none", PaddingChoice::none},
               {"same", PaddingChoice::same}});
  d.parameter("slope", slope_,
              "slope of LeakyReLU below zero, 0 for ReLU; default: that of the preset")
      .range(0, 1);
  d.parameter("residual_slope", residual_slope_,
              "slope of LeakyReLU within residual blocks, 0 for ReLU; default: that of the preset")
      .range(0, 1);
}

void CapsuleStage::declare_routing(Declaration& d) {
  d.parameter("iterations", iterations_, "routing iterations").range(1, 100);
  d.parameter("logits", logits_,
              "whether an iteration replaces the logits of the previous one or adds to them",
              {{"preset", LogitsChoice::preset},
               {"replace", LogitsChoice::replace},
               {"accumulate", LogitsChoice::accumulate}});
  d.parameter("gradient", routing_.gradient,
              "how many routing iterations are differentiated: all, or only the last one",
              {{"all_iterations", nn::RoutingGradient::all_iterations},
               {"last_iteration", nn::RoutingGradient::last_iteration}});
  d.parameter("softmax", routing_.softmax,
              "what the coupling coefficients are normalised over: the classes or, as some "
              "well-known ports do by mistake, the input capsules",
              {{"classes", nn::RoutingSoftmax::classes},
               {"input_capsules", nn::RoutingSoftmax::input_capsules}});
  d.parameter(
      "squash", routing_.squash,
      "function that limits capsules: length²/(1+length²) in their direction, with epsilon within "
      "the root (released code) or after it (thesis), or tanh or sigmoid of each element",
      {{"epsilon_in_root", nn::SquashForm::epsilon_in_root},
       {"epsilon_after_root", nn::SquashForm::epsilon_after_root},
       {"tanh", nn::SquashForm::tanh},
       {"sigmoid", nn::SquashForm::sigmoid}});
  d.parameter("routing_weights", weights_,
              "whether primary capsules share the matrices that predict class capsules, or each "
              "has its own",
              {{"preset", WeightsChoice::preset},
               {"shared", WeightsChoice::shared},
               {"own", WeightsChoice::own}});
  d.parameter("image_height", image_height_,
              "height of the images with routing_weights = \"own\", because the number of weights "
              "depends on it; default: that of the preset")
      .range(1, 65536);
  d.parameter("image_width", image_width_, "width of the images, likewise").range(1, 65536);
  d.parameter("glorot_fans", glorot_fans_,
              "fans that determine the initial range of own routing weights: those of a primary "
              "capsule's matrix, or those that Keras computes for the tensor of all matrices "
              "(released code), which give a far smaller range",
              {{"preset", FansChoice::preset},
               {"matrix", FansChoice::matrix},
               {"tensor", FansChoice::tensor}});
  d.parameter("routing", routing_.form,
              "implementation for shared weights: factored avoids materialising the prediction of "
              "each capsule; the results are the same",
              {{"factored", nn::RoutingForm::factored}, {"direct", nn::RoutingForm::direct}});
  d.parameter("norm_axis", norm_axis_, "axis along which class capsules are scaled to unit length",
              {{"preset", NormChoice::preset},
               {"capsule", NormChoice::capsule},
               {"class", NormChoice::class_capsules},
               {"none", NormChoice::none}});
}

nn::NetworkOptions CapsuleStage::options() const {
  nn::NetworkOptions all = preset(preset_);
  switch (features_) {
    case Features::preset:
      break;
    case Features::stacked_convolutional:
      all.features = nn::FeatureKind::stacked_convolutional;
      break;
    case Features::residual:
      all.features = nn::FeatureKind::residual;
      break;
    case Features::one_convolution:
      all.features = nn::FeatureKind::one_convolution;
      break;
    case Features::stacked_valid:
      all.features = nn::FeatureKind::stacked_valid;
      break;
  }
  override_with(classes_, all.classes);
  override_with(width_, all.width);
  override_with(primary_channels_, all.primary_channels);
  override_with(capsule_size_, all.capsule_size);
  override_with(class_capsule_size_, all.class_capsule_size);
  if (first_stride_) all.first_stride = first_stride_;
  if (activation_ == ActivationChoice::relu) all.activation = nn::Activation::relu;
  if (activation_ == ActivationChoice::leaky_relu || slope_) {
    all.activation = nn::Activation::leaky_relu;
  }
  override_with(slope_, all.slope);
  override_with(residual_slope_, all.residual_slope);
  override_with(dropout_, all.dropout);
  const nn::Logits preset_logits = all.routing.logits;
  all.routing = routing_;
  all.routing.iterations = iterations_;
  all.routing.logits = preset_logits;
  if (logits_ == LogitsChoice::replace) all.routing.logits = nn::Logits::replace;
  if (logits_ == LogitsChoice::accumulate) all.routing.logits = nn::Logits::accumulate;
  if (weights_ == WeightsChoice::shared) all.weights = nn::CapsuleWeights::shared;
  if (weights_ == WeightsChoice::own) all.weights = nn::CapsuleWeights::own;
  override_with(image_height_, all.images.height);
  override_with(image_width_, all.images.width);
  if (norm_axis_ == NormChoice::capsule) all.norm_axis = nn::NormAxis::capsule;
  if (norm_axis_ == NormChoice::class_capsules) all.norm_axis = nn::NormAxis::class_capsules;
  if (norm_axis_ == NormChoice::none) all.norm_axis = nn::NormAxis::none;
  if (last_padding_ == PaddingChoice::none) all.last_padding = nn::LastPadding::none;
  if (last_padding_ == PaddingChoice::same) all.last_padding = nn::LastPadding::same;
  if (glorot_fans_ == FansChoice::matrix) all.glorot_fans = nn::GlorotFans::matrix;
  if (glorot_fans_ == FansChoice::tensor) all.glorot_fans = nn::GlorotFans::tensor;
  return all;
}

nn::CapsuleNetwork CapsuleStage::make() const {
  const nn::NetworkOptions all = options();
  refuse_without_effect(slope_ && activation_ == ActivationChoice::relu, "slope",
                        "with `activation = \"relu\"`");
  refuse_without_effect(residual_slope_ && all.features != nn::FeatureKind::residual,
                        "residual_slope", "without `features = \"residual\"`");
  refuse_without_effect(
      last_padding_ != PaddingChoice::preset && all.features != nn::FeatureKind::stacked_valid,
      "last_padding", "without `features = \"stacked_valid\"`");
  const bool shared = all.weights == nn::CapsuleWeights::shared;
  refuse_without_effect(shared && glorot_fans_ != FansChoice::preset, "glorot_fans",
                        "with `routing_weights = \"shared\"`");
  refuse_without_effect(shared && image_height_, "image_height",
                        "with `routing_weights = \"shared\"`, which accepts images of any size");
  refuse_without_effect(shared && image_width_, "image_width",
                        "with `routing_weights = \"shared\"`, which accepts images of any size");
  return nn::CapsuleNetwork(all, nn::generator_seed());
}

torch::MemoryFormat CapsuleStage::memory_format() const {
  return options().features == nn::FeatureKind::stacked_convolutional
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
