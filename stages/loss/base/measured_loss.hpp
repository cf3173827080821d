/// The result of a loss as a plain function of tensors.
#pragma once

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

namespace seam::stages {

/// Scalars on the embedding's device; only the loss has a gradient.
struct MeasuredLoss {
  torch::Tensor loss;
  std::vector<std::pair<std::string, torch::Tensor>> measured = {};  ///< metrics by name
};

}  // namespace seam::stages
