#include "stages/loss/pairs.hpp"

#include <torch/types.h>

#include <string>

#include <seam/error.hpp>

namespace seam::stages {
namespace {

constexpr const char* remedy =
    "; put a pair sampler into the flow, and keep pairs whole in batches (batch: group_size = 2 "
    "and an even size)";

std::string rows_text(std::int64_t first) {
  return "rows " + std::to_string(first) + " and " + std::to_string(first + 1);
}

}  // namespace

Pairs pairs_of(const Tensor& embedding, const Tensor& same,
               const std::vector<std::int64_t>* groups) {
  const std::int64_t rows = embedding.size(0);
  if (rows == 0) throw Error("the batch has no rows, and a mean over pairs needs one");
  if (same.dim() != 1 || same.size(0) != rows) {
    throw Error("`same` needs one number for each of the batch's " + std::to_string(rows) + " rows",
                Fault::internal);
  }
  if (rows % 2 != 0) {
    throw Error("the batch has " + std::to_string(rows) +
                " rows, which are not pairs: rows 2k and 2k+1 belong together" + remedy);
  }
  const Tensor plain = on_host(same, torch::kInt64);
  const auto* const labels = plain.data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < rows; ++row) {
    if (labels[row] == 0 || labels[row] == 1) continue;
    throw Error("`same` of row " + std::to_string(row) + " is " + std::to_string(labels[row]) +
                "; it must be 1 (the same item) or 0");
  }
  for (std::int64_t row = 0; row < rows; row += 2) {
    if (labels[row] != labels[row + 1]) {
      throw Error("`same` differs within the pair of " + rows_text(row) + ": " +
                  std::to_string(labels[row]) + " and " + std::to_string(labels[row + 1]) + remedy);
    }
    const auto at = static_cast<std::size_t>(row);
    if (groups != nullptr && (*groups)[at] != (*groups)[at + 1]) {
      throw Error(rows_text(row) + " should be a pair, but belong to groups " +
                  std::to_string((*groups)[at]) + " and " + std::to_string((*groups)[at + 1]) +
                  remedy);
    }
  }
  const Tensor pairs = embedding.reshape({rows / 2, 2, -1});
  return {pairs.select(1, 0), pairs.select(1, 1),
          plain.view({rows / 2, 2}).select(1, 0).to(embedding.device(), embedding.scalar_type())};
}

}  // namespace seam::stages
