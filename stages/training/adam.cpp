#include "stages/training/adam.hpp"

#include <cmath>
#include <string>

namespace seam::stages {

double learning_rate(LearningRateSchedule schedule, double rate, double decay, std::int64_t epoch,
                     std::int64_t step) {
  switch (schedule) {
    case LearningRateSchedule::constant:
      return rate;
    case LearningRateSchedule::exponential:
      return rate * std::pow(decay, static_cast<double>(epoch));
    case LearningRateSchedule::inverse_time:
      return rate / (1 + decay * static_cast<double>(step));
  }
  return rate;
}

void Adam::declare(Declaration& d) {
  d.doc(
      "Adam (Kingma and Ba 2015) over the weights of all trainable stages upstream: runs the "
      "backward "
      "pass from `loss` and takes a step. A flow with this stage trains.");
  d.parameter("rate", settings_.rate, "learning rate at the start").range(0, 100);
  d.parameter("schedule", schedule_, "how the learning rate falls",
              {{"constant", LearningRateSchedule::constant},
               {"exponential", LearningRateSchedule::exponential},
               {"inverse_time", LearningRateSchedule::inverse_time}});
  d.parameter("decay", decay_,
              "exponential: the factor of an epoch; inverse_time: rate / (1 + decay * step)")
      .range(0, 1);
  d.parameter("beta1", settings_.beta1, "decay of the first moment").range(0, 0.999999);
  d.parameter("beta2", settings_.beta2, "decay of the second moment").range(0, 0.999999);
  d.parameter("epsilon", settings_.epsilon,
              "added to the root of the second moment; Keras' default. Some gradients are exactly "
              "zero (of a bias before a batch norm), so it cannot be")
      .range(1e-12, 1);
  d.parameter("weight_decay", settings_.weight_decay, "L2 penalty added to gradients")
      .range(0, 100);
  d.parameter("clip_norm", clip_norm_, "longest gradient over all weights; 0: no limit")
      .range(0, 1e12);
  d.upstream(trainables_, "stages whose weights are trained");
  d.needs(field::loss);
  d.trains();
  d.keeps_state();
}

void adam_step(const Tensor& weight, const Tensor& gradient, const Tensor& mean,
               const Tensor& square, std::int64_t step, const AdamSettings& settings) {
  const torch::NoGradGuard no_gradient;
  const Tensor slope =
      settings.weight_decay == 0 ? gradient : gradient.add(weight, settings.weight_decay);
  mean.mul_(settings.beta1).add_(slope, 1 - settings.beta1);
  square.mul_(settings.beta2).addcmul_(slope, slope, 1 - settings.beta2);
  const double mean_bias = 1 - std::pow(settings.beta1, static_cast<double>(step));
  const double square_bias = 1 - std::pow(settings.beta2, static_cast<double>(step));
  const Tensor scale = square.div(square_bias).sqrt_().add_(settings.epsilon);
  weight.addcdiv_(mean, scale, -settings.rate / mean_bias);
}

double gradient_norm(const std::vector<NamedWeight>& weights) {
  double total = 0;
  for (const NamedWeight& weight : weights) {
    if (!weight.tensor.grad().defined()) continue;
    const Tensor gradient = weight.tensor.grad().to(torch::kCPU, torch::kFloat32).contiguous();
    const auto* values = gradient.data_ptr<float>();
    for (std::int64_t i = 0; i < gradient.numel(); ++i) {
      total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
  }
  return std::sqrt(total);
}

void Adam::begin(Context& /*context*/) {
  if (weights_.empty()) take_weights();
}

void Adam::take_weights() {
  std::size_t stage = 0;
  for (Trainable* trainable : trainables_) {
    for (NamedWeight& weight : trainable->weights()) {
      weights_.push_back({std::to_string(stage) + "." + weight.name, weight.tensor});
      moments_.push_back({torch::zeros_like(weight.tensor), torch::zeros_like(weight.tensor)});
      if (loaded_.empty()) continue;
      get_tensor(loaded_, weights_.back().name + ".mean", moments_.back().mean);
      get_tensor(loaded_, weights_.back().name + ".square", moments_.back().square);
    }
    ++stage;
  }
  loaded_ = {};
  if (weights_.empty()) {
    throw Error("no stage before the optimizer has weights to train; put a model into the flow",
                Fault::configuration);
  }
}

void Adam::process(const Packet& packet, Context& context) {
  const Tensor& loss = packet.get(field::loss);
  for (const NamedWeight& weight : weights_) {
    if (weight.tensor.grad().defined()) weight.tensor.grad().zero_();
  }
  loss.backward();
  const double norm = gradient_norm(weights_);
  if (!std::isfinite(norm)) {
    throw Error("the gradient is not finite at step " + std::to_string(step_) + " (loss " +
                std::to_string(loss.item<double>()) + "); a smaller rate or clip_norm may help");
  }
  AdamSettings settings = settings_;
  settings.rate = learning_rate(schedule_, settings_.rate, decay_, context.epoch(), step_);
  const double shrink = clip_norm_ > 0 && norm > clip_norm_ ? clip_norm_ / norm : 1;
  ++step_;
  for (std::size_t at = 0; at < weights_.size(); ++at) {
    const Tensor gradient = weights_[at].tensor.grad();
    if (!gradient.defined()) continue;  // a part of a model that this loss does not reach
    adam_step(weights_[at].tensor, shrink == 1 ? gradient : gradient * shrink, moments_[at].mean,
              moments_[at].square, step_, settings);
  }
  context.metric("rate", settings.rate);
  context.metric("gradient_norm", norm);
}

void Adam::save(Archive& archive) const {
  if (!loaded_.empty()) {  // resumed, and no flow has trained since
    archive = loaded_;
    return;
  }
  archive.put("step", step_);
  for (std::size_t at = 0; at < weights_.size(); ++at) {
    put_tensor(archive, weights_[at].name + ".mean", moments_[at].mean);
    put_tensor(archive, weights_[at].name + ".square", moments_[at].square);
  }
}

void Adam::load(const Archive& archive) {
  step_ = archive.integer("step");
  weights_.clear();
  moments_.clear();
  loaded_ = step_ > 0 ? archive : Archive();
}

}  // namespace seam::stages
