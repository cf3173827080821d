/// Vectors that arrive a batch at a time, in one matrix.
///
///     add, add, ... ──► [rows so far | room] ──► take_in_order ──► [G,E]
///
/// The matrix grows by half when it is full. Room that nothing was written to takes addresses and
/// no memory, so that the vectors are in memory less than twice while they are copied, and once
/// otherwise: they are also put in order where they lie.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>

namespace seam::stages {

class GatheredRows {
 public:
  /// Copies `vectors`, [N,E] of any type and device, of as many dimensions as those before.
  void add(const torch::Tensor& vectors);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// 0 before the first.
  [[nodiscard]] std::int64_t dimensions() const { return rows_.defined() ? rows_.size(1) : 0; }

  /// f32[G,E] on the CPU: row i is the one that came as number order[i]; each number is there once.
  /// Leaves nothing behind.
  [[nodiscard]] torch::Tensor take_in_order(std::span<const std::int64_t> order);

 private:
  torch::Tensor rows_;  ///< f32[C,E], of which `size_` are filled
  std::int64_t size_ = 0;
};

}  // namespace seam::stages
