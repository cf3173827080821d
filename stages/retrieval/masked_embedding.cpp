#include "stages/retrieval/masked_embedding.hpp"

#include <seam/error.hpp>
#include <string>

namespace seam::stages {

torch::Tensor masked_embedding(const torch::Tensor& capsules, const torch::Tensor& category) {
  if (capsules.dim() != 3 || category.dim() != 1 || category.size(0) != capsules.size(0) ||
      category.scalar_type() != torch::kInt64) {
    throw Error("masking needs capsules [N,K,D] and categories i64[N]", Fault::internal);
  }
  const std::int64_t count = capsules.size(0);
  const std::int64_t classes = capsules.size(1);
  const torch::Tensor known = category.contiguous();
  const std::int64_t* index = known.data_ptr<std::int64_t>();
  torch::Tensor masked = torch::zeros_like(capsules, torch::MemoryFormat::Contiguous);
  for (std::int64_t row = 0; row < count; ++row) {
    if (index[row] < 0 || index[row] >= classes) {
      throw Error("row " + std::to_string(row) + " of a batch has category " +
                  std::to_string(index[row]) + "; the model has class capsules 0 to " +
                  std::to_string(classes - 1));
    }
    masked[row][index[row]].copy_(capsules[row][index[row]]);
  }
  return masked.reshape({count, classes * capsules.size(2)});
}

}  // namespace seam::stages
