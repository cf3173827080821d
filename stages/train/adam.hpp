/// Stage `train.adam`: Adam, AMSGrad and AdamW.
#pragma once

#include "stages/train/optimizer.hpp"

namespace seam::stages {

/// Where epsilon is added.
enum class EpsilonForm : std::uint8_t {
  pytorch,  ///< √(v / (1 - β2ᵗ)) + ε: algorithm 1 of the paper
  keras,    ///< √v + ε: the shorter form at the end of the paper's section 2
};

struct AdamSettings {
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  EpsilonForm epsilon_form = EpsilonForm::pytorch;
  double weight_decay = 0;
  /// AdamW (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019): the weight
  /// shrinks by rate * weight_decay and the moments only use the gradient. Otherwise the decay is
  /// an L2 penalty, added to the gradient.
  bool decoupled = false;
};

/// Step number `step` (from 1) of Adam, algorithm 1 of Kingma and Ba, ICLR 2015, on one weight.
/// This is our own update because LibTorch's optimizer stores its state differently from version to
/// version, and a checkpoint must outlive them. `mean` and `square` are its moments, like the
/// weight in shape; with `largest_square` it is AMSGrad (Reddi, Kale, Kumar, ICLR 2018).
void adam_step(const Tensor& weight, const Tensor& gradient, const Tensor& mean,
               const Tensor& square, std::int64_t step, const AdamSettings& settings,
               const Tensor& largest_square = {});

class Adam final : public Optimizer {
 public:
  static constexpr std::string_view name = "train.adam";

  Adam() : Optimizer(Schedule::exponential, 1e-3) {}

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  [[nodiscard]] std::vector<std::string> moments() const override;
  void update(const Tensor& weight, const Tensor& gradient, std::span<const Tensor> moments,
              const UpdateSettings& settings) const override;

  AdamSettings settings_;
  bool amsgrad_ = false;
};

}  // namespace seam::stages
