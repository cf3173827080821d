/// Stage `loss.multi_similarity`: pairs of a batch, mined and weighted by their similarities.
///
///     embedding [N,E], items [N] ──► loss
#pragma once

#include <seam/loss.hpp>

#include <string_view>

#include "stages/loss/multi_similarity_loss.hpp"

namespace seam::stages {

class MultiSimilarity final : public Loss {
 public:
  static constexpr std::string_view name = "loss.multi_similarity";

  void declare(Declaration& d) override;

 protected:
  Tensor compute(const Packet& packet, Context& context) override;

 private:
  MultiSimilarityOptions options_;
};

}  // namespace seam::stages
