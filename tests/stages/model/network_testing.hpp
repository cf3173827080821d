/// Shared by tests of networks: packets of images, and counts of trained weights.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>
#include <seam/packet.hpp>
#include <seam/tensor.hpp>

#include <cstdint>

namespace seam::test {

/// A packet of images [count,3,height,width] from 0 to 1, always the same ones.
inline Packet images_of(std::int64_t count, std::int64_t height, std::int64_t width) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({count, 3, height, width}));
  return packet;
}

/// Number of elements in the trained weights of a network.
inline std::int64_t count_of_numbers(const torch::nn::Module& network) {
  std::int64_t sum = 0;
  for (const torch::Tensor& weight : network.parameters()) sum += weight.numel();
  return sum;
}

}  // namespace seam::test
