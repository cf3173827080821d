/// Checks of gradients before an optimizer follows them.
#pragma once

#include <seam/tensor.hpp>

namespace seam::stages {

/// Root of the sum of squares over all elements. On a CPU in double and in a fixed order, so that
/// it is the same for any number of threads.
[[nodiscard]] double gradient_norm(const std::vector<Tensor>& gradients);

struct GradientCheck {
  double loss = 0;
  double largest = 0;  ///< absolute value of an element; NaN if an element is
};

/// Reads both from the device at once. No rounding, so any order of the elements gives the same.
[[nodiscard]] GradientCheck check_gradient(const Tensor& loss,
                                           const std::vector<Tensor>& gradients);

}  // namespace seam::stages
