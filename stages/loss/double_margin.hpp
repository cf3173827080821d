/// Stage `loss.double_margin`: matching pairs may keep some distance, others must keep more.
///
///     embedding, same ──► loss = mean( same max(0, d - matching)² +
///                                      (1 - same) max(0, non_matching - d)² )
///
/// Lin et al., "DeepHash", 2015; equation 5 of O'Neill's "Siamese capsule networks", 2018, whose
/// text gives the two margins each other's names.
#pragma once

#include <string_view>

#include "stages/loss/pair_loss.hpp"

namespace seam::stages {

class DoubleMargin final : public PairLoss {
 public:
  static constexpr std::string_view name = "loss.double_margin";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  Tensor losses(const Tensor& distances, const Tensor& same) override;

  double matching_ = 0.2;
  double non_matching_ = 0.5;
};

}  // namespace seam::stages
