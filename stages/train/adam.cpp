#include "stages/train/adam.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

namespace seam::stages {
namespace {

// A longer gradient has squares that float32 cannot hold: the second moment would stay infinite,
// and the weight would never change again.
constexpr double longest_gradient = 1e18;

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

double usual_decay(LearningRateSchedule schedule) {
  switch (schedule) {
    case LearningRateSchedule::constant:
      return 0;
    case LearningRateSchedule::exponential:
      return 0.995;
    case LearningRateSchedule::inverse_time:
      return 5e-4;
  }
  return 0;
}

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
  d.parameter(
       "decay", decay_,
       "exponential: the rate's factor each epoch, 0.995 if not set; inverse_time: rate / (1 "
       "+ decay * step), 5e-4 if not set; constant takes none")
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

double Adam::decay() const {
  return decay_.value_or(usual_decay(schedule_));
}

void Adam::check_schedule(const Context& context) const {
  if (!decay_) return;
  const std::string given = "`decay = " + text_of(*decay_) + "`";
  switch (schedule_) {
    case LearningRateSchedule::constant:
      throw Error(given +
                      " has no effect with `schedule = \"constant\"`; remove it, or choose "
                      "\"exponential\" or \"inverse_time\"",
                  Fault::configuration);
    case LearningRateSchedule::exponential:
      if (*decay_ < 0.5) {
        context.warn(given + " multiplies the learning rate by " + text_of(*decay_) +
                     " each epoch; a slow fall is close to 1, such as 0.995");
      }
      break;
    case LearningRateSchedule::inverse_time:
      if (*decay_ > 0.1) {
        context.warn(given + " divides the learning rate by " + text_of(1 + 1000 * *decay_) +
                     " at step 1000; a slow fall is close to 0, such as 0.0005");
      }
      break;
  }
}

void Adam::open(Context& context) {
  check_schedule(context);
  stages_.assign(trainables_.begin(), trainables_.end());
}

void Adam::begin(Context& /*context*/) {
  for (Trainable* stage : trainables_) {
    if (std::ranges::find(stages_, stage) == stages_.end()) stages_.push_back(stage);
  }
  find_all_weights();
  in_flow_.clear();
  of_flow_.clear();
  for (Trainable* stage : trainables_) {
    for (const std::size_t at : find_weights(*stage)) {
      if (std::ranges::find(in_flow_, at) != in_flow_.end()) continue;
      in_flow_.push_back(at);
      of_flow_.push_back(weights_[at].weight);
    }
  }
  if (in_flow_.empty()) {
    throw Error("no stage before the optimizer has weights to train; put a model into the flow",
                Fault::configuration);
  }
}

void Adam::find_all_weights() {
  for (Trainable* stage : stages_) find_weights(*stage);
}

std::vector<std::size_t> Adam::find_weights(Trainable& stage) {
  // Stages are told apart by their place among those of all flows: two models may use one name.
  const auto number = std::ranges::find(stages_, &stage) - stages_.begin();
  std::vector<std::size_t> places;
  for (const NamedWeight& weight : stage.weights()) {
    const std::string in_checkpoint = std::to_string(number) + "." + weight.name;
    const auto found = std::ranges::find_if(
        weights_, [&](const Trained& known) { return known.weight.tensor.is_same(weight.tensor); });
    places.push_back(static_cast<std::size_t>(found - weights_.begin()));
    if (found != weights_.end()) continue;
    if (std::ranges::any_of(
            weights_, [&](const Trained& known) { return known.weight.name == in_checkpoint; })) {
      throw Error("a stage has two weights called '" + weight.name +
                      "', or made a new one after open(); each needs a name of its own and stays "
                      "the same tensor",
                  Fault::internal);
    }
    weights_.push_back({{in_checkpoint, weight.tensor},
                        torch::zeros_like(weight.tensor),
                        torch::zeros_like(weight.tensor),
                        0});
  }
  return places;
}

void Adam::check_loss(const Tensor& loss, std::int64_t step) {
  if (!loss.requires_grad()) {
    throw Error(
        "the loss has no gradient: no weight of the stages before it was used to compute it",
        Fault::configuration);
  }
  const auto value = loss.item<double>();
  if (!std::isfinite(value)) {
    throw Error("the loss is not finite at step " + std::to_string(step) + " (" + text_of(value) +
                "); a smaller rate or clip_norm may help");
  }
}

void Adam::process(const Packet& packet, Context& context) {
  const Tensor& loss = packet.get(field::loss);
  check_loss(loss, step_);
  // Undefined rather than zero: a weight that this loss does not reach is not touched, whatever
  // batches before it did.
  for (const NamedWeight& weight : of_flow_) Tensor(weight.tensor).mutable_grad() = Tensor();
  loss.backward();
  const double norm = gradient_norm(of_flow_);
  const double shrink = clip_norm_ > 0 && norm > clip_norm_ ? clip_norm_ / norm : 1;
  if (!std::isfinite(norm) || norm * shrink > longest_gradient) {
    throw Error("the gradient " +
                (std::isfinite(norm) ? "is too long (" + text_of(norm) + ")"
                                     : std::string("is not finite")) +
                " at step " + std::to_string(step_) + " (loss " + text_of(loss.item<double>()) +
                "); a smaller rate or clip_norm may help");
  }
  AdamSettings settings = settings_;
  settings.rate = learning_rate(schedule_, settings_.rate, decay(), context.epoch(), step_);
  ++step_;
  for (const std::size_t at : in_flow_) {
    Trained& trained = weights_[at];
    const Tensor gradient = trained.weight.tensor.grad();
    if (!gradient.defined()) continue;  // a part of a model that this loss does not reach
    adam_step(trained.weight.tensor, shrink == 1 ? gradient : gradient * shrink, trained.mean,
              trained.square, ++trained.steps, settings);
  }
  for (Trainable* stage : trainables_) stage->batch_accepted();
  context.metric("rate", settings.rate);
  context.metric("gradient_norm", norm);
}

void Adam::save(Archive& archive) const {
  archive.put("step", step_);
  for (const Trained& trained : weights_) {
    if (trained.steps == 0) continue;  // as it is without an entry
    put_tensor(archive, trained.weight.name + ".mean", trained.mean);
    put_tensor(archive, trained.weight.name + ".square", trained.square);
    archive.put(trained.weight.name + ".steps", trained.steps);
  }
}

void Adam::load(const Archive& archive) {
  step_ = archive.integer("step");
  find_all_weights();
  std::size_t taken = 1;
  for (Trained& trained : weights_) {
    const std::string& weight = trained.weight.name;
    trained.steps = 0;
    trained.mean.zero_();
    trained.square.zero_();
    if (!archive.has(weight + ".mean")) continue;  // not trained so far
    get_tensor(archive, weight + ".mean", trained.mean);
    get_tensor(archive, weight + ".square", trained.square);
    taken += 2;
    // Checkpoints of version 0.1 count the steps of all weights together.
    const bool counted = archive.has(weight + ".steps");
    trained.steps = counted ? archive.integer(weight + ".steps") : step_;
    taken += counted ? 1 : 0;
  }
  if (taken != archive.entries().size()) {
    throw Error("the checkpoint holds moments of other weights than those of the " +
                std::to_string(stages_.size()) +
                " trainable stages before this optimizer; it is of another pipeline");
  }
}

}  // namespace seam::stages
