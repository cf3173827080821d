/// Stage `loss.contrastive`: matching pairs near, others at least a margin apart.
///
///     embedding, same ──► loss = mean( same d² + (1 - same) max(0, margin - d)² )
///
/// Hadsell, Chopra, LeCun, "Dimensionality reduction by learning an invariant mapping", CVPR 2006.
#pragma once

#include <string_view>

#include "stages/loss/pair_loss.hpp"

namespace seam::stages {

class Contrastive final : public PairLoss {
 public:
  static constexpr std::string_view name = "loss.contrastive";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  Tensor losses(const Tensor& distances, const Tensor& same) override;

  ContrastiveSettings settings_;
};

}  // namespace seam::stages
