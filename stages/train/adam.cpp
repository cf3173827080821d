#include "stages/train/adam.hpp"

#include <cmath>

#include "stages/train/blocks.hpp"

namespace seam::stages {
namespace {

struct Moments {
  Tensor mean, square, largest_square;  ///< the last undefined without AMSGrad
};

/// The divisor that corrects a moment's bias from starting at zero.
struct Biases {
  double mean, square;
};

void move_along(const Tensor& weight, const Tensor& gradient, const Moments& moments,
                const Biases& biases, const AdamSettings& settings) {
  const bool penalty = settings.weight_decay != 0 && !settings.decoupled;
  if (settings.weight_decay != 0 && settings.decoupled) {
    weight.mul_(1 - settings.rate * settings.weight_decay);
  }
  // One rounding per operation: LibTorch's combined ones (add with a factor, addcmul, addcdiv)
  // round once or twice, depending on where a thread's share ends.
  const Tensor slope = penalty ? gradient + weight * settings.weight_decay : gradient;
  moments.mean.mul_(settings.beta1).add_(slope * (1 - settings.beta1));
  moments.square.mul_(settings.beta2).add_((slope * slope).mul_(1 - settings.beta2));
  const Tensor& largest = moments.largest_square;
  if (largest.defined()) largest.copy_(torch::maximum(largest, moments.square));
  const Tensor& divisor = largest.defined() ? largest : moments.square;
  const double corrected = settings.rate / biases.mean;
  if (settings.epsilon_form == EpsilonForm::keras) {
    const Tensor scale = divisor.sqrt().add_(settings.epsilon);
    weight.sub_((moments.mean / scale).mul_(corrected * std::sqrt(biases.square)));
    return;
  }
  const Tensor scale = divisor.div(biases.square).sqrt_().add_(settings.epsilon);
  weight.sub_((moments.mean / scale).mul_(corrected));
}

}  // namespace

void Adam::declare(Declaration& d) {
  d.doc(
      "Adam (Kingma and Ba 2015) over the weights of all trainable stages upstream: runs the "
      "backward pass from `loss` and takes a step. With `decoupled` it is AdamW. A flow with this "
      "stage trains.");
  declare_optimizer(d);
  d.parameter("beta1", settings_.beta1, "decay of the first moment").range(0, 0.999999);
  d.parameter("beta2", settings_.beta2, "decay of the second moment").range(0, 0.999999);
  d.parameter(
       "epsilon", settings_.epsilon,
       "added to the root of the second moment; the default is that of Keras. It must not be zero, "
       "because some gradients are exactly zero (those of a bias before a batch norm)")
      .range(1e-12, 1);
  d.parameter("epsilon_form", settings_.epsilon_form,
              "whether epsilon is added after the bias correction of the second moment (the "
              "paper's algorithm, PyTorch), or before it (the paper's shorter form, Keras), which "
              "makes its effect 31 times as large in the first step",
              {{"pytorch", EpsilonForm::pytorch}, {"keras", EpsilonForm::keras}});
  d.parameter("decoupled", settings_.decoupled,
              "AdamW: weights shrink by rate * weight_decay, separately from the gradient; without "
              "it weight_decay is an L2 penalty, added to the gradient");
  d.parameter("amsgrad", amsgrad_, "whether to divide by the largest second moment so far");
}

void Adam::open(Context& context) {
  Optimizer::open(context);
  if (settings_.decoupled && !decays()) {
    context.warn("`decoupled` has no effect, because `weight_decay` is 0");
  }
}

std::vector<std::string> Adam::moments() const {
  std::vector<std::string> names{"mean", "square"};
  if (amsgrad_) names.emplace_back("largest_square");
  return names;
}

void Adam::update(const Tensor& weight, const Tensor& gradient, std::span<const Tensor> moments,
                  const UpdateSettings& settings) const {
  AdamSettings all = settings_;
  all.rate = settings.rate;
  all.weight_decay = settings.weight_decay;
  adam_step(weight, gradient, moments[0], moments[1], settings.step, all,
            amsgrad_ ? moments[2] : Tensor());
}

void adam_step(const Tensor& weight, const Tensor& gradient, const Tensor& mean,
               const Tensor& square, std::int64_t step, const AdamSettings& settings,
               const Tensor& largest_square) {
  const double mean_bias = 1 - std::pow(settings.beta1, static_cast<double>(step));
  const double square_bias = 1 - std::pow(settings.beta2, static_cast<double>(step));
  in_blocks({weight, gradient, mean, square, largest_square}, [&](const std::vector<Tensor>& part) {
    move_along(part[0], part[1], {part[2], part[3], part[4]}, {mean_bias, square_bias}, settings);
  });
}

}  // namespace seam::stages
