#include "stages/train/optimizer.hpp"

#include <torch/utils.h>
#include <seam/name_pattern.hpp>

#include <algorithm>
#include <cmath>

#include "stages/counted.hpp"
#include "stages/train/gradient.hpp"

namespace seam::stages {
namespace {

// A longer gradient has squares that float32 cannot hold: Adam's second moment would stay infinite,
// and the weight would never change again.
constexpr double longest_gradient = 1e18;

/// Returns the first field of the batch, other than the loss, that contains NaN or infinity, or
/// null.
const Packet::Slot* first_not_finite(const Packet& packet) {
  const torch::NoGradGuard no_gradient;
  for (const Packet::Slot& slot : packet.slots()) {
    if (slot.name == field::loss.name || slot.type->name != type_name<Tensor>()) continue;
    const Tensor& tensor = *static_cast<const Tensor*>(slot.value.get());
    if (!tensor.defined() || !tensor.is_floating_point()) continue;
    if (!at::isfinite(tensor).all().item<bool>()) return &slot;
  }
  return nullptr;
}

/// Returns the first five names, and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 5;
  std::string text;
  for (std::size_t at = 0; at < std::min(shown, names.size()); ++at) {
    text += (at == 0 ? "" : ", ") + names[at];
  }
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

/// Returns a remedy for a loss or gradient that is not finite, depending on the likely cause.
std::string remedy_for(const Packet& packet, std::int64_t step) {
  std::string text;
  bool computed = true;
  if (const Packet::Slot* const slot = first_not_finite(packet)) {
    computed = static_cast<const Tensor*>(slot->value.get())->requires_grad();
    text = "; field '" + std::string(slot->name) +
           "' is not finite either; check the stage that provides it";
  }
  if (!computed) return text + " and its inputs";
  if (step > 0) return text + "; a smaller rate or clip_norm may help";
  return text +
         "; no step has been taken yet, so the rate and clip_norm are not the cause; check the "
         "inputs and the initial weights";
}

}  // namespace

void Optimizer::declare_optimizer(Declaration& d) {
  declare_schedule(d, schedule_);
  d.parameter("weight_decay", weight_decay_, "pulls weights towards zero").range(0, 100);
  d.parameter("no_decay", no_decay_,
              "weights exempt from weight_decay, by their names in checkpoints; * matches "
              "anything: [\"*.bias\"]");
  d.parameter("clip_norm", clip_norm_,
              "maximum norm of the gradient over all weights; 0: no clipping")
      .range(0, 1e12);
  d.parameter("accumulate", accumulate_,
              "number of batches whose mean gradient is used for one step")
      .range(1, 1e6);
  d.parameter("gradient_norm", measures_norm_,
              "whether to record the gradient's norm even if clip_norm does not need it");
  d.upstream(trainables_, "stages whose weights are trained");
  d.needs(field::loss);
  d.trains();
  d.keeps_state();
}

void Optimizer::open(Context& context) {
  settle_schedule(schedule_, context);
  if (weight_decay_ == 0 && !no_decay_.empty()) {
    context.warn("`no_decay` has no effect, because `weight_decay` is 0");
  }
  stages_.assign(trainables_.begin(), trainables_.end());
}

void Optimizer::begin(Context& context) {
  warn_of_ended_cosine(schedule_, step_, context);
  for (Trainable* stage : trainables_) {
    if (std::ranges::find(stages_, stage) == stages_.end()) stages_.push_back(stage);
  }
  for (Trainable* stage : stages_) find_weights(*stage);
  check_no_decay();
  forget_gradients();
  in_flow_.clear();
  for (Trainable* stage : trainables_) {
    for (const std::size_t at : find_weights(*stage)) {
      if (std::ranges::find(in_flow_, at) == in_flow_.end()) in_flow_.push_back(at);
    }
  }
  if (in_flow_.empty()) {
    throw Error(
        "no stage before the optimizer has weights to train; put a model that is not frozen into "
        "the flow",
        Fault::configuration);
  }
}

std::vector<std::size_t> Optimizer::find_weights(Trainable& stage) {
  // Stages are distinguished by their index among those of all flows: two models may use the same
  // name.
  const auto number = std::ranges::find(stages_, &stage) - stages_.begin();
  const std::size_t count = moments().size();
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
                      "', or replaced one after open(); each weight needs a unique name and must "
                      "remain the same tensor",
                  Fault::internal);
    }
    Trained trained;
    trained.weight = {in_checkpoint, weight.tensor, weight.rate_scale};
    trained.version = weight.tensor._version();
    trained.decays = !matches_any(no_decay_, weight.name);
    for (std::size_t at = 0; at < count; ++at) {
      trained.moments.push_back(torch::zeros_like(weight.tensor));
    }
    weights_.push_back(std::move(trained));
  }
  return places;
}

void Optimizer::check_no_decay() const {
  for (const std::string& pattern : no_decay_) {
    std::vector<std::string> names;
    for (Trainable* stage : stages_) {
      for (const NamedWeight& weight : stage->weights()) names.push_back(weight.name);
    }
    if (std::ranges::any_of(names, [&](const auto& name) { return matches(pattern, name); })) {
      continue;
    }
    throw Error(
        "no weight matches '" + pattern + "' in `no_decay`; the weights are " + some_of(names),
        Fault::configuration);
  }
}

std::vector<Tensor> Optimizer::gradients_of(const Tensor& loss) const {
  if (!loss.requires_grad()) {
    throw Error(
        "the loss has no gradient: no weight of the stages before it was used to compute it, or "
        "all losses have weight = 0",
        Fault::configuration);
  }
  // Undefined rather than zero: a weight that this loss does not reach is not changed, whatever
  // earlier batches did.
  for (const std::size_t at : in_flow_) weights_[at].weight.tensor.mutable_grad() = Tensor();
  loss.backward();
  std::vector<Tensor> gradients;
  for (const std::size_t at : in_flow_) {
    gradients.push_back(std::exchange(weights_[at].weight.tensor.mutable_grad(), Tensor()));
  }
  return gradients;
}

void Optimizer::refuse_useless(const Packet& packet, const std::vector<Tensor>& gradients) const {
  std::vector<Tensor> reached;
  double count = 0;
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    reached.push_back(gradient);
    count += static_cast<double>(gradient.numel());
  }
  const GradientCheck seen = check_gradient(packet.get(field::loss), reached);
  const std::string at_step = " at step " + std::to_string(step_) + " (";
  if (!std::isfinite(seen.loss)) {
    throw Error("the loss is not finite" + at_step + text_of(seen.loss) + ")" +
                remedy_for(packet, step_));
  }
  const std::string with_loss = at_step + "loss " + text_of(seen.loss) + ")";
  if (!std::isfinite(seen.largest)) {
    throw Error("the gradient is not finite" + with_loss + remedy_for(packet, step_));
  }
  // With clipping, any norm is usable. The norm itself is only computed if it may be too large.
  if (clip_norm_ > 0 || seen.largest * std::sqrt(count) <= longest_gradient) return;
  if (const double norm = gradient_norm(reached); norm > longest_gradient) {
    throw Error("the gradient is too large (norm " + text_of(norm) + ")" + with_loss +
                "; a smaller rate or clip_norm may help");
  }
}

void Optimizer::process(const Packet& packet, Context& context) {
  std::vector<Tensor> gradients = gradients_of(packet.get(field::loss));
  refuse_useless(packet, gradients);
  // From here on nothing fails: the batch is accepted. Its stages read their measurements before
  // the step changes weights, while the device is idle.
  const torch::NoGradGuard no_gradient;
  for (Trainable* stage : trainables_) stage->batch_accepted();
  for (std::size_t i = 0; i < in_flow_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    Tensor& sum = weights_[in_flow_[i]].gradient;
    // Each is divided before it is added, so that the sum of finite ones is finite. In two
    // operations: how add_() with a factor rounds depends on how threads share a tensor.
    if (accumulate_ == 1) {
      sum = std::move(gradients[i]);
    } else if (sum.defined()) {
      sum.add_(gradients[i] / static_cast<double>(accumulate_));
    } else {
      sum = gradients[i] / static_cast<double>(accumulate_);
    }
  }
  if (++accumulated_ == accumulate_) take_step(context);
}

void Optimizer::end(Context& context) {
  if (accumulated_ > 0) take_step(context);
  warn_of_unreached(context);
}

void Optimizer::warn_of_unreached(const Context& context) {
  const bool first = flows_.emplace(context.flow()).second;
  if (warned_ || step_ == 0 || first) return;
  std::vector<std::string> names;
  for (const std::size_t at : in_flow_) {
    const NamedWeight& weight = weights_[at].weight;
    // The version also counts the steps of other optimizers.
    if (weights_[at].steps > 0 || weight.tensor._version() != weights_[at].version) continue;
    names.push_back(weight.name.substr(weight.name.find('.') + 1));
  }
  if (names.empty()) return;
  warned_ = true;
  const bool one = names.size() == 1;
  const std::string those = one ? "it" : "them";
  context.warn("so far no loss has reached " + counted(names.size(), "weight") + " of flow '" +
               std::string(context.flow()) + "', which " + (one ? "keeps its" : "keep their") +
               " initial or imported values: " + some_of(names) + ". Add a loss that depends on " +
               those + ", or freeze or remove the part of the model that has " + those);
}

Pause Optimizer::pause(Context& /*context*/) {
  return accumulated_ == 0 ? Pause::ready : Pause::later;
}

void Optimizer::take_step(Context& context) {
  const torch::NoGradGuard no_gradient;
  // At a flow's end there may be fewer batches: the mean is over those that remain.
  const double share = static_cast<double>(accumulate_) / static_cast<double>(accumulated_);
  double scale = share;
  if (clip_norm_ > 0 || measures_norm_) {
    std::vector<Tensor> gradients;
    for (const std::size_t at : in_flow_) {
      if (weights_[at].gradient.defined()) gradients.push_back(weights_[at].gradient);
    }
    const double norm = gradient_norm(gradients) * share;
    if (clip_norm_ > 0 && norm > clip_norm_) scale *= clip_norm_ / norm;
    context.metric("gradient_norm", norm);
  }
  const double rate = learning_rate(schedule_, context.epoch(), step_++);
  for (const std::size_t at : in_flow_) {
    Trained& trained = weights_[at];
    if (!trained.gradient.defined()) continue;  // a part of a model that no loss reached
    update(trained.weight.tensor, scale == 1 ? trained.gradient : trained.gradient * scale,
           trained.moments,
           {rate * trained.weight.rate_scale, trained.decays ? weight_decay_ : 0, ++trained.steps});
  }
  forget_gradients();
  context.metric("rate", rate);
}

void Optimizer::forget_gradients() {
  for (Trained& trained : weights_) trained.gradient = Tensor();
  accumulated_ = 0;
}

void Optimizer::save(Archive& archive) const {
  archive.put("step", step_);
  const std::vector<std::string> names = moments();
  for (const Trained& trained : weights_) {
    if (trained.steps == 0) continue;  // the same as no entry
    archive.put(trained.weight.name + ".steps", trained.steps);
    for (std::size_t at = 0; at < names.size(); ++at) {
      put_tensor(archive, trained.weight.name + "." + names[at], trained.moments[at]);
    }
  }
}

void Optimizer::load(const Archive& archive) {
  step_ = archive.integer("step");
  for (Trainable* stage : stages_) find_weights(*stage);
  const std::vector<std::string> names = moments();
  std::set<std::string, std::less<>> taken{"step"};
  for (Trained& trained : weights_) {
    trained.steps = 0;
    for (const Tensor& moment : trained.moments) moment.zero_();
    if (!archive.has(trained.weight.name + ".steps")) continue;  // not trained so far
    trained.steps = archive.integer(*taken.insert(trained.weight.name + ".steps").first);
    for (std::size_t at = 0; at < names.size(); ++at) {
      get_tensor(archive, *taken.insert(trained.weight.name + "." + names[at]).first,
                 trained.moments[at]);
    }
  }
  if (taken.size() < archive.entries().size()) check_left(archive, taken);
}

void Optimizer::check_left(const Archive& archive,
                           const std::set<std::string, std::less<>>& taken) const {
  std::set<std::string> frozen;
  for (std::size_t number = 0; number < stages_.size(); ++number) {
    const auto* const stage = dynamic_cast<const Stage*>(stages_[number]);
    if (stage == nullptr) continue;
    Archive whole;
    stage->save(whole);
    for (const auto& [name, entry] : whole.entries()) {
      frozen.insert(std::to_string(number) + "." + name);
    }
  }
  for (const Trained& trained : weights_) frozen.erase(trained.weight.name);
  for (const auto& [name, entry] : archive.entries()) {
    const std::string weight = name.substr(0, name.rfind('.'));
    if (taken.contains(name) || frozen.contains(weight)) continue;
    if (std::ranges::any_of(weights_,
                            [&](const auto& known) { return known.weight.name == weight; })) {
      throw Error("the checkpoint has '" + name +
                  "', which this optimizer does not keep with its parameters; set them as in the "
                  "run that wrote the checkpoint (such as `amsgrad` or `momentum`), or start a new "
                  "run");
    }
    throw Error("the checkpoint has '" + name +
                "', but no stage before this optimizer has such a weight; the checkpoint was "
                "written by a different pipeline");
  }
}

}  // namespace seam::stages
