#include "stages/retrieval/gathered_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <seam/error.hpp>
#include <string>
#include <utility>
#include <vector>

namespace seam::stages {
namespace {

constexpr std::int64_t least_room = 64;
constexpr std::int64_t large = std::int64_t{64} << 20;    // bytes
constexpr std::int64_t separate = std::int64_t{1} << 30;  // bytes

/// The number of rows to allocate. Large matrices get a GiB at once: this is a separate mapping
/// even if freed memory is kept (pipeline/run/freed_memory.hpp), so it is returned to the system
/// when it becomes too small.
std::int64_t room_for(std::int64_t rows, std::int64_t dimensions) {
  const std::int64_t row_bytes =
      std::max<std::int64_t>(1, dimensions) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t room = std::max(least_room, rows + rows / 2);
  return room * row_bytes < large ? room : std::max(room, separate / row_bytes + 1);
}

/// Moves row order[i] to row i, along the cycles of the permutation.
void put_in_order(float* rows, std::int64_t dimensions, std::span<const std::int64_t> order) {
  const auto row = [&](std::size_t at) {
    return rows + static_cast<std::int64_t>(at) * dimensions;
  };
  std::vector<bool> there(order.size());
  std::vector<float> first(static_cast<std::size_t>(dimensions));
  for (std::size_t start = 0; start < order.size(); ++start) {
    if (there[start] || order[start] == static_cast<std::int64_t>(start)) continue;
    std::copy_n(row(start), dimensions, first.begin());
    std::size_t at = start;
    for (;;) {
      there[at] = true;
      const auto from = static_cast<std::size_t>(order[at]);
      if (from == start) break;
      std::copy_n(row(from), dimensions, row(at));
      at = from;
    }
    std::copy_n(first.begin(), dimensions, row(at));
  }
}

}  // namespace

void GatheredRows::add(const torch::Tensor& vectors) {
  const torch::NoGradGuard no_grad;
  const std::int64_t count = vectors.size(0);
  if (!rows_.defined()) rows_ = torch::empty({0, vectors.size(1)}, torch::kFloat32);
  if (vectors.size(1) != dimensions()) {
    throw Error("vectors of " + std::to_string(vectors.size(1)) +
                    " dimensions cannot be collected with those of " + std::to_string(dimensions()),
                Fault::internal);
  }
  if (size_ + count > rows_.size(0)) {
    torch::Tensor larger =
        torch::empty({room_for(size_ + count, dimensions()), dimensions()}, torch::kFloat32);
    larger.narrow(0, 0, size_).copy_(rows_.narrow(0, 0, size_));
    rows_ = std::move(larger);
  }
  rows_.narrow(0, size_, count).copy_(vectors);
  size_ += count;
}

torch::Tensor GatheredRows::take_in_order(std::span<const std::int64_t> order) {
  std::vector<bool> named(static_cast<std::size_t>(size_));
  for (const std::int64_t row : order) {
    if (row < 0 || row >= size_ || named[static_cast<std::size_t>(row)]) break;
    named[static_cast<std::size_t>(row)] = true;
  }
  if (order.size() != named.size() || std::ranges::find(named, false) != named.end()) {
    throw Error("the order of " + std::to_string(size_) + " vectors must contain each of them once",
                Fault::internal);
  }
  torch::Tensor rows = rows_.defined() ? rows_.narrow(0, 0, size_) : torch::empty({0, 0});
  put_in_order(rows.data_ptr<float>(), dimensions(), order);
  *this = {};
  return rows;
}

}  // namespace seam::stages
