/// Collects vectors that arrive batch by batch in one matrix.
///
///     add, add, ... ──► [rows so far | room] ──► take_in_order ──► [G,E]
///
/// The matrix grows by half when it is full. Unused capacity takes address space but no memory, so
/// the vectors take less than twice their size while they are copied, and otherwise once: they are
/// also sorted in place.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>

namespace seam::stages {

class GatheredRows {
 public:
  /// Copies `vectors`, [N,E] of any type and device, with the same number of dimensions as before.
  void add(const torch::Tensor& vectors);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// 0 before the first.
  [[nodiscard]] std::int64_t dimensions() const { return rows_.defined() ? rows_.size(1) : 0; }

  /// Returns f32[G,E] on the CPU, whose row i is the order[i]-th received one; `order` contains
  /// each number once. Leaves the object empty.
  [[nodiscard]] torch::Tensor take_in_order(std::span<const std::int64_t> order);

 private:
  torch::Tensor rows_;  ///< f32[C,E], of which `size_` are filled
  std::int64_t size_ = 0;
};

}  // namespace seam::stages
