/// Stage `loss.supervised_contrastive`: all pairs of a batch at once.
///
///     embedding [N,E], items [N] ──► loss
#pragma once

#include <seam/loss.hpp>

#include <string_view>

namespace seam::stages {

class SupervisedContrastive final : public Loss {
 public:
  static constexpr std::string_view name = "loss.supervised_contrastive";

  void declare(Declaration& d) override;

 private:
  Tensor compute(const Packet& packet, Context& context) override;

  double temperature_ = 0.1;
};

}  // namespace seam::stages
