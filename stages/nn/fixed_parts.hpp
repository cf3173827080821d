/// Work on a batch in parts that do not depend on the number of threads, so that the results do not
/// either:
///
///     batch [N,...] ─► at most 8 parts [n,...] ─► one thread each ─► ((p1 + p2) + p3) + ...
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace seam::nn {

inline constexpr std::int64_t most_parts = 8;

/// Number of parts for a batch. `elements`: its work, as the number of elements that could be read
/// and written in the same time. A part costs about 50 µs, so narrow layers are slower in eight.
[[nodiscard]] std::int64_t parts_for(std::int64_t elements);

/// Calls `part(number, first row, rows)` for the fixed parts of a batch, `most` or fewer, each on
/// one thread and without gradients, and returns how many there are.
std::int64_t in_parts(std::int64_t rows, std::int64_t most,
                      const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& part);

/// A batch that is written part by part. The thread that computed a part copies it, while it is in
/// that core's cache.
class Joined {
 public:
  explicit Joined(std::int64_t rows) : rows_(rows) {}
  /// The part that begins at row `first`. Threads may call this for different parts.
  void put(std::int64_t first, const torch::Tensor& part);
  /// Undefined until there is a part.
  [[nodiscard]] const torch::Tensor& whole() const { return whole_; }

 private:
  std::int64_t rows_;
  std::once_flag made_;
  torch::Tensor whole_;
};

/// The same number for any number of threads.
[[nodiscard]] torch::Tensor sum_in_order(const std::vector<torch::Tensor>& parts);

/// A differentiable function of some rows of a batch and of a weight that is the same for all.
using RowsFunction = std::function<torch::Tensor(const torch::Tensor&, const torch::Tensor&)>;

/// The intermediate results of f, which the backward pass needs.
enum class Between : std::uint8_t {
  kept,        ///< as LibTorch does
  recomputed,  ///< f is called again: for results that are large and quickly made
};

/// f(x, weight), on CPUs in fixed parts of x's rows, with gradients by f's own operations. The
/// weight may be undefined. Autocast is off within. f must be deterministic: a second backward pass
/// through a retained graph calls it again. Throws seam::Error if a gradient of the gradient is
/// requested.
[[nodiscard]] torch::Tensor by_parts(const torch::Tensor& x, const torch::Tensor& weight,
                                     const RowsFunction& f, Between between = Between::recomputed);

/// The same for a function of x alone.
[[nodiscard]] torch::Tensor by_parts(const torch::Tensor& x,
                                     const std::function<torch::Tensor(const torch::Tensor&)>& f);

}  // namespace seam::nn
