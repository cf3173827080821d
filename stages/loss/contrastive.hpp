/// Stage `loss.contrastive`: matching pairs near, others at least a margin apart.
///
///     hadsell      same d²      + (1 - same) max(0, margin - d)²
///     equation4    ½ same D     + ½ (1 - same) max(0, margin - D)      D = d² of Euclidean ones
///
/// each the mean over pairs. Hadsell, Chopra, LeCun, "Dimensionality reduction by learning an
/// invariant mapping", CVPR 2006; equation 4 of O'Neill's "Siamese capsule networks", 2018.
#pragma once

#include <torch/types.h>

#include "stages/loss/base/pair_loss.hpp"

namespace seam::stages {

enum class ContrastiveForm : std::uint8_t {
  hadsell,   ///< squared hinge
  equation4  ///< of O'Neill's paper: halves, squared distance, hinge that is not squared
};

struct ContrastiveSettings {
  ContrastiveForm form = ContrastiveForm::hadsell;
  PairedDistance distance = PairedDistance::euclidean;
  double margin = 0.4;
};

/// The distances that `settings` compares with the margin.
[[nodiscard]] inline Tensor compared(const Tensor& distances, const ContrastiveSettings& settings) {
  const bool squared =
      settings.form == ContrastiveForm::equation4 && settings.distance == PairedDistance::euclidean;
  return squared ? distances.square() : distances;
}

/// The loss of each pair [P]; `same` is 1 or 0.
[[nodiscard]] inline Tensor contrastive_losses(const Tensor& distances, const Tensor& same,
                                               const ContrastiveSettings& settings) {
  const Tensor measure = compared(distances, settings);
  const Tensor hinge = (settings.margin - measure).clamp_min(0);
  if (settings.form == ContrastiveForm::hadsell) {
    return same * distances.square() + (1 - same) * hinge.square();
  }
  return 0.5 * same * measure + 0.5 * (1 - same) * hinge;
}

class Contrastive final : public PairLoss {
 public:
  static constexpr std::string_view name = "loss.contrastive";

  void declare(Declaration& d) override {
    d.doc(
        "Contrastive loss of pairs, which are rows 2k and 2k+1 of a batch: matching pairs should "
        "be near, others at least `margin` apart. Averaged over pairs.");
    d.parameter(
        "form", settings_.form,
        "losses of matching and other pairs: d² and max(0, margin - d)² (Hadsell et al. 2006, and "
        "the released code of the Siamese capsule network), or half of D and of max(0, margin - "
        "D), where D is the squared Euclidean distance (equation 4 of its paper)",
        {{"hadsell", ContrastiveForm::hadsell}, {"equation4", ContrastiveForm::equation4}});
    d.parameter("margin", settings_.margin,
                "distance beyond which non-matching pairs have no loss; with equation4 a squared "
                "distance")
        .range(0, 1e6);
    declare_pairs(d);
  }

  void open(Context& /*context*/) override {
    check_distance("margin", settings_.margin);
    settings_.distance = distance();
    if (settings_.margin == 0) {
      throw Error("`margin` is 0: non-matching pairs would have no loss at any distance",
                  Fault::configuration);
    }
  }

 private:
  Tensor losses(const Tensor& distances, const Tensor& same) override {
    const Tensor near = compared(distances.detach(), settings_) <= settings_.margin;
    measure("accuracy", (near == (same == 1)).to(torch::kFloat64).mean());
    return contrastive_losses(distances, same, settings_);
  }

  ContrastiveSettings settings_;
};

}  // namespace seam::stages
