#include "stages/train/blocks.hpp"

#include <algorithm>

#include <ATen/Parallel.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace seam::stages {
namespace {

/// Six tensors of this size, and those that an update allocates, fit a core's cache.
constexpr std::int64_t block = 1 << 15;

/// Whether the same offset in memory is the same element of both. Strides of sides of length 1 do
/// not matter.
bool lie_alike(const Tensor& a, const Tensor& b) {
  if (!b.is_non_overlapping_and_dense() || a.sizes() != b.sizes()) return false;
  for (std::int64_t side = 0; side < a.dim(); ++side) {
    if (a.size(side) > 1 && a.stride(side) != b.stride(side)) return false;
  }
  return true;
}

bool lie_alike(const std::vector<Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
    return !tensor.defined() || lie_alike(tensors.front(), tensor);
  });
}

}  // namespace

void in_blocks(const std::vector<Tensor>& tensors,
               const std::function<void(const std::vector<Tensor>&)>& f) {
  const torch::NoGradGuard no_gradient;
  const std::int64_t elements = tensors.front().numel();
  if (!tensors.front().device().is_cpu() || elements <= block || !lie_alike(tensors)) {
    f(tensors);
    return;
  }
  std::vector<Tensor> rows;
  for (const Tensor& tensor : tensors) {
    rows.push_back(tensor.defined() ? tensor.as_strided({elements}, {1}) : Tensor());
  }
  const std::int64_t blocks = (elements + block - 1) / block;
  at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    const torch::NoGradGuard none_here;  // this setting is per thread
    std::vector<Tensor> part(rows.size());
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t first = at * block;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].defined()) {
          part[i] = rows[i].narrow(0, first, std::min(block, elements - first));
        }
      }
      f(part);
    }
  });
}

}  // namespace seam::stages
