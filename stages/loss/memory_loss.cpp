#include "stages/loss/memory_loss.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>

#include <cstdint>

#include "stages/nn/layers.hpp"

namespace seam::stages {

using torch::Tensor;

namespace {

/// How many are above 0.
Tensor active(const Tensor& losses) {
  return (losses.detach() > 0).sum();
}

/// Row by row first: the sum then does not depend on the number of threads.
Tensor mean_of_active(const Tensor& losses, const Tensor& count) {
  return losses.sum(1).sum() / count.clamp_min(1);
}

}  // namespace

MemoryLoss memory_loss(const Tensor& embedding, const Tensor& memory, const Tensor& labels,
                       double margin) {
  namespace functional = torch::nn::functional;
  const std::int64_t rows = embedding.size(0);
  const std::int64_t before = memory.size(0) - rows;
  const Tensor similarity =
      nn::linear(functional::normalize(embedding), functional::normalize(memory.detach()));
  const Tensor same = labels.narrow(0, before, rows).unsqueeze(1) == labels.unsqueeze(0);
  const Tensor self = torch::eye(rows, labels.options().dtype(torch::kBool));
  const Tensor others = torch::cat({torch::ones({rows, before}, self.options()), ~self}, 1);
  const Tensor positives = (1 - similarity).clamp_min(0).masked_fill(~(same & others), 0);
  const Tensor negatives = (similarity - margin).clamp_min(0).masked_fill(same, 0);
  const Tensor positive_pairs = active(positives);
  const Tensor negative_pairs = active(negatives);
  const auto of_a_row = [rows](const Tensor& count) {
    return count.to(torch::kFloat64) / static_cast<double>(rows);
  };
  return {mean_of_active(positives, positive_pairs) + mean_of_active(negatives, negative_pairs),
          of_a_row(positive_pairs), of_a_row(negative_pairs)};
}

}  // namespace seam::stages
