#include "stages/loss/contrastive.hpp"

#include <torch/types.h>

#include <seam/error.hpp>

#include "stages/counted.hpp"

namespace seam::stages {

void Contrastive::declare(Declaration& d) {
  d.doc(
      "Contrastive loss of pairs, which are rows 2k and 2k+1 of a batch: matching pairs should be "
      "near, others at least `margin` apart. Averaged over pairs.");
  d.parameter(
      "form", settings_.form,
      "losses of matching and other pairs: d² and max(0, margin - d)² (Hadsell et al. 2006, and "
      "the released code of the Siamese capsule network), or half of D and of max(0, margin - D), "
      "where D is the squared Euclidean distance (equation 4 of its paper)",
      {{"hadsell", ContrastiveForm::hadsell}, {"equation4", ContrastiveForm::equation4}});
  d.parameter(
       "margin", settings_.margin,
       "distance beyond which non-matching pairs have no loss; with equation4 a squared distance")
      .range(0, 1e6);
  declare_pairs(d);
}

void Contrastive::open(Context& /*context*/) {
  check_distance();
  settings_.distance = distance();
  if (settings_.margin == 0) {
    throw Error("`margin` is 0: non-matching pairs would have no loss at any distance",
                Fault::configuration);
  }
  if (distance() == PairedDistance::exp_manhattan && settings_.margin >= 1) {
    throw Error("`margin` is " + text_of(settings_.margin) +
                    ", but with `distance = \"exp_manhattan\"` distances are below 1, and no pair "
                    "would ever be far enough apart; choose a margin below 1",
                Fault::configuration);
  }
}

Tensor Contrastive::losses(const Tensor& distances, const Tensor& same) {
  const bool squared = settings_.form == ContrastiveForm::equation4 &&
                       settings_.distance == PairedDistance::euclidean;
  const Tensor known = squared ? distances.detach().square() : distances.detach();
  const Tensor right = (known <= settings_.margin) == (same == 1);
  measure("accuracy", right.to(torch::kFloat64).mean());
  return contrastive_losses(distances, same, settings_);
}

}  // namespace seam::stages
