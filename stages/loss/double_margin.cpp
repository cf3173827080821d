#include "stages/loss/double_margin.hpp"

#include <torch/types.h>

#include <seam/error.hpp>

#include "stages/counted.hpp"

namespace seam::stages {

void DoubleMargin::declare(Declaration& d) {
  d.doc(
      "Contrastive loss of pairs, which are rows 2k and 2k+1 of a batch, with two margins: "
      "matching pairs have no loss below one distance, non-matching pairs none above a larger one. "
      "Averaged over pairs.");
  d.parameter("matching_margin", matching_,
              "distance up to which matching pairs have no loss; m_n in the Siamese capsule "
              "network's paper")
      .range(0, 1e6);
  d.parameter("non_matching_margin", non_matching_,
              "distance beyond which non-matching pairs have no loss; m_p in that paper")
      .range(0, 1e6);
  declare_pairs(d);
}

void DoubleMargin::open(Context& /*context*/) {
  check_distance();
  if (matching_ >= non_matching_) {
    throw Error(
        "`matching_margin` (" + text_of(matching_) + ") must be below `non_matching_margin` (" +
            text_of(non_matching_) +
            "): at distances between them the loss could not distinguish the two kinds of pairs",
        Fault::configuration);
  }
  if (distance() == PairedDistance::exp_manhattan && non_matching_ >= 1) {
    throw Error("`non_matching_margin` is " + text_of(non_matching_) +
                    ", but with `distance = \"exp_manhattan\"` distances are below 1, and no pair "
                    "would ever be far enough apart; choose a margin below 1",
                Fault::configuration);
  }
}

Tensor DoubleMargin::losses(const Tensor& distances, const Tensor& same) {
  return double_margin_losses(distances, same, matching_, non_matching_);
}

}  // namespace seam::stages
