#include "stages/train/sgd.hpp"

#include "stages/train/blocks.hpp"

namespace seam::stages {
namespace {

void move_along_velocity(const Tensor& weight, const Tensor& gradient, const Tensor& velocity,
                         const SgdSettings& settings) {
  // One rounding per operation: adding with a factor rounds once or twice, depending on where a
  // thread's share ends.
  const Tensor slope =
      settings.weight_decay == 0 ? gradient : gradient + weight * settings.weight_decay;
  if (!velocity.defined()) {
    weight.sub_(slope * settings.rate);
    return;
  }
  velocity.mul_(settings.momentum).add_(slope);
  const Tensor step = settings.nesterov ? slope + velocity * settings.momentum : velocity;
  weight.sub_(step * settings.rate);
}

}  // namespace

void Sgd::declare(Declaration& d) {
  d.doc(
      "Stochastic gradient descent over the weights of all trainable stages upstream, with "
      "momentum: runs the backward pass from `loss` and takes a step. A flow with this stage "
      "trains.");
  declare_optimizer(d);
  d.parameter("momentum", settings_.momentum,
              "momentum: fraction of the previous velocity that is kept; 0: no momentum")
      .range(0, 0.999999);
  d.parameter("nesterov", settings_.nesterov,
              "whether to use Nesterov's momentum, which looks one step ahead");
}

void Sgd::open(Context& context) {
  if (settings_.nesterov && settings_.momentum == 0) {
    throw Error("`nesterov = true` needs a momentum above 0", Fault::configuration);
  }
  Optimizer::open(context);
}

std::vector<std::string> Sgd::moments() const {
  if (settings_.momentum == 0) return {};
  return {"velocity"};
}

void Sgd::update(const Tensor& weight, const Tensor& gradient, std::span<const Tensor> moments,
                 const UpdateSettings& settings) const {
  SgdSettings all = settings_;
  all.rate = settings.rate;
  all.weight_decay = settings.weight_decay;
  sgd_step(weight, gradient, moments.empty() ? Tensor() : moments[0], all);
}

void sgd_step(const Tensor& weight, const Tensor& gradient, const Tensor& velocity,
              const SgdSettings& settings) {
  in_blocks({weight, gradient, velocity}, [&](const std::vector<Tensor>& part) {
    move_along_velocity(part[0], part[1], part[2], settings);
  });
}

}  // namespace seam::stages
