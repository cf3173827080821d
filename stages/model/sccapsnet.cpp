#include "stages/model/sccapsnet.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace seam::stages {

void Sccapsnet::declare(Declaration& d) {
  d.doc(
      "SCCapsNet, the stacked-convolution capsule network for clothing retrieval (Kınlı 2019). "
      "Four "
      "7x7 convolutions of stride 2, primary capsules, dynamic routing with one weight matrix that "
      "all "
      "input capsules share. With the defaults it has 2,425,536 numbers. Any image "
      "size.");
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
              {{"all_iterations", RoutingGradient::all_iterations},
               {"last_iteration", RoutingGradient::last_iteration}});
  d.parameter("routing", options_.routing.form,
              "factored never makes the predictions of single capsules; the same numbers",
              {{"factored", RoutingForm::factored}, {"direct", RoutingForm::direct}});
  d.parameter("norm_axis", options_.norm_axis, "over which axis class capsules get unit length",
              {{"capsule", NormAxis::capsule}, {"class", NormAxis::class_capsules}});
  d.parameter("precision", options_.precision,
              "bfloat16 computes the convolutions so, for CPUs that are fast at it",
              {{"float32", Precision::float32}, {"bfloat16", Precision::bfloat16}});
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
  d.offers<Trainable>(*this);
  d.keeps_state();
}

NetworkOptions Sccapsnet::network_options() const {
  NetworkOptions options = preset_ == Preset::as_published ? sccapsnet_as_published(options_)
                                                           : sccapsnet_as_released(options_);
  options.routing.iterations = iterations_;
  if (slope_) {
    options.activation = Activation::leaky_relu;
    options.slope = *slope_;
  }
  return options;
}

void Sccapsnet::open(Context& context) {
  network_ = std::make_unique<CapsuleNetwork>(network_options(), context.random_of_run().bits64());
  for (const auto& [weight_name, tensor] : network_->weights()) tensor.set_requires_grad(true);
}

void Sccapsnet::begin(Context& /*context*/) {
  statistics_.restore(network_->buffers());
  batches_ = 0;
  accepted_ = 0;
}

ClassCapsules Sccapsnet::train(const Packet& packet, const Context& context) {
  statistics_.begin_batch(network_->buffers());
  ++batches_;
  const Tensor& images = packet.get(field::images);
  const DropoutKey key{context.seed(), stream_of(context.stage()),
                       static_cast<std::uint64_t>(context.epoch()), packet.sequence()};
  if (towers_ == Towers::together) return network_->train(images, key);
  std::vector<std::int64_t> tower;
  for (const Role role : packet.get(field::roles)) {
    tower.push_back(static_cast<std::int64_t>(role));
  }
  return network_->train_towers(images, tower, key);
}

Tensor Sccapsnet::training_mask(const Packet& packet) const {
  if (train_mask_ == TrainMask::none) return {};
  const std::vector<std::int64_t>& own = packet.get(field::categories);
  if (train_mask_ == TrainMask::own_category) return torch::tensor(own, torch::kInt64);
  return torch::tensor(anchor_categories(own, packet.get(field::groups), packet.get(field::roles)),
                       torch::kInt64);
}

void Sccapsnet::process(Packet& packet, Context& context) {
  ClassCapsules result;
  Tensor mask;
  if (context.training()) {
    result = train(packet, context);
    mask = training_mask(packet);
  } else {
    statistics_.restore(network_->buffers());
    result = network_->evaluate(packet.get(field::images));
  }
  packet.set(field::embedding, mask_capsules(result.capsules, mask));
  packet.set(field::capsules, result.capsules);
  packet.set(field::class_lengths, result.lengths);
  packet.set(field::predicted_category, result.predicted);
}

void Sccapsnet::end(Context& context) {
  statistics_.restore(network_->buffers());
  if (batches_ == 0 || accepted_ > 0) return;
  context.warn("no optimizer accepted any of the " + std::to_string(batches_) +
               (batches_ == 1 ? " training batch" : " training batches") +
               " of this flow, so the running statistics stay as they were before it");
}

void Sccapsnet::batch_accepted() {
  statistics_.accept();
  ++accepted_;
}

void Sccapsnet::save(Archive& archive) const {
  for (const auto& [weight_name, tensor] : network_->weights())
    put_tensor(archive, weight_name, tensor);
  const CapsuleNetwork::Named statistics = network_->buffers();
  for (const auto& [statistic, tensor] : statistics_.accepted(statistics))
    put_tensor(archive, statistic, tensor);
}

void Sccapsnet::load(const Archive& archive) {
  statistics_.accept();  // what was open is overwritten
  for (const auto& [weight_name, tensor] : network_->weights())
    get_tensor(archive, weight_name, tensor);
  for (const auto& [weight_name, tensor] : network_->buffers())
    get_tensor(archive, weight_name, tensor);
}

std::vector<NamedWeight> Sccapsnet::weights() {
  std::vector<NamedWeight> weights;
  for (const auto& [weight_name, tensor] : network_->weights())
    weights.push_back({weight_name, tensor});
  return weights;
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
