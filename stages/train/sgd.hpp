/// Stage `train.sgd`: stochastic gradient descent, with momentum.
#pragma once

#include "stages/train/optimizer.hpp"

namespace seam::stages {

struct SgdSettings {
  double rate = 1e-2;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;  ///< L2 penalty added to the gradient
};

/// One step on one weight, as PyTorch defines it (without dampening): v = momentum * v + gradient;
/// weight -= rate * v, or with Nesterov's momentum (Sutskever et al., ICML 2013)
/// rate * (gradient + momentum * v). `velocity` is undefined for a momentum of 0.
void sgd_step(const Tensor& weight, const Tensor& gradient, const Tensor& velocity,
              const SgdSettings& settings);

class Sgd final : public Optimizer {
 public:
  static constexpr std::string_view name = "train.sgd";

  Sgd() : Optimizer(Schedule::constant, 1e-2) {}

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  [[nodiscard]] std::vector<std::string> moments() const override;
  void update(const Tensor& weight, const Tensor& gradient, std::span<const Tensor> moments,
              const UpdateSettings& settings) const override;

  SgdSettings settings_;
};

}  // namespace seam::stages
