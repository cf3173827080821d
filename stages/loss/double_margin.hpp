/// Stage `loss.double_margin`: matching pairs may keep some distance, others must keep more.
///
///     embedding, same ──► loss = mean( same max(0, d - matching)² +
///                                      (1 - same) max(0, non_matching - d)² )
///
/// Lin et al., "DeepHash", 2015; equation 5 of O'Neill's "Siamese capsule networks", 2018, whose
/// text gives the two margins each other's names.
#pragma once

#include <torch/types.h>

#include "stages/counted.hpp"
#include "stages/loss/base/pair_loss.hpp"

namespace seam::stages {

/// The loss of each pair [P]; `same` is 1 or 0.
[[nodiscard]] inline Tensor double_margin_losses(const Tensor& distances, const Tensor& same,
                                                 double matching, double non_matching) {
  const Tensor too_far = (distances - matching).clamp_min(0).square();
  const Tensor too_near = (non_matching - distances).clamp_min(0).square();
  return same * too_far + (1 - same) * too_near;
}

class DoubleMargin final : public PairLoss {
 public:
  static constexpr std::string_view name = "loss.double_margin";

  void declare(Declaration& d) override {
    d.doc(
        "Contrastive loss of pairs, which are rows 2k and 2k+1 of a batch, with two margins: "
        "matching pairs have no loss below one distance, non-matching pairs none above a larger "
        "one. Averaged over pairs.");
    d.parameter("matching_margin", matching_,
                "distance up to which matching pairs have no loss; m_n in the Siamese capsule "
                "network's paper")
        .range(0, 1e6);
    d.parameter("non_matching_margin", non_matching_,
                "distance beyond which non-matching pairs have no loss; m_p in that paper")
        .range(0, 1e6);
    declare_pairs(d);
  }

  void open(Context& /*context*/) override {
    check_distance("non_matching_margin", non_matching_);
    if (matching_ < non_matching_) return;
    throw Error(
        "`matching_margin` (" + text_of(matching_) + ") must be below `non_matching_margin` (" +
            text_of(non_matching_) +
            "): at distances between them the loss could not distinguish the two kinds of pairs",
        Fault::configuration);
  }

 private:
  Tensor losses(const Tensor& distances, const Tensor& same) override {
    return double_margin_losses(distances, same, matching_, non_matching_);
  }

  double matching_ = 0.2;
  double non_matching_ = 0.5;
};

}  // namespace seam::stages
