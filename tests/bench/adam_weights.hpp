/// The weights of a network with Adam's moments, updated as by train.adam.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "stages/train/adam.hpp"
#include "stages/train/gradient.hpp"

namespace seam::bench {

class AdamWeights {
 public:
  explicit AdamWeights(const torch::nn::Module& network) {
    for (const torch::Tensor& weight : network.parameters()) {
      weights_.push_back(weight);
      means_.push_back(torch::zeros_like(weight));
      squares_.push_back(torch::zeros_like(weight));
    }
  }

  [[nodiscard]] std::int64_t count() const {
    std::int64_t numbers = 0;
    for (const torch::Tensor& weight : weights_) numbers += weight.numel();
    return numbers;
  }

  /// The gradients of the last backward pass.
  [[nodiscard]] std::vector<torch::Tensor> gradients() const {
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& weight : weights_) {
      if (weight.grad().defined()) gradients.push_back(weight.grad());
    }
    return gradients;
  }

  /// Looks at the gradients, as optimizers do, takes a step and forgets them.
  void step(const torch::Tensor& loss, const stages::AdamSettings& settings) {
    ++steps_;
    largest_ = stages::check_gradient(loss, gradients()).largest;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (!weights_[i].grad().defined()) continue;
      stages::adam_step(weights_[i], weights_[i].grad(), means_[i], squares_[i], steps_, settings);
      weights_[i].mutable_grad() = torch::Tensor();
    }
  }

 private:
  std::vector<torch::Tensor> weights_, means_, squares_;
  std::int64_t steps_ = 0;
  double largest_ = 0;
};

}  // namespace seam::bench
