/// Batches of images with landmarks, for the tests of their losses.
#pragma once

#include <torch/types.h>
#include <torch/utils.h>
#include <seam/tensor.hpp>
#include <seam/testing.hpp>

#include <vector>

#include "stages/landmark_tensors.hpp"

namespace seam::stages {

/// Three images of 20 x 10 pixels (width x height).
inline Packet landmark_batch() {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({3, 3, 10, 20}));
  packet.set(field::predicted_landmarks, torch::rand({3, 8, 2}).requires_grad_(true));
  packet.set(field::visibility_logits, torch::randn({3, 8, 4}).requires_grad_(true));
  packet.set(field::attribute_logits, torch::randn({3, 5}).requires_grad_(true));
  packet.set(field::true_landmarks, torch::rand({3, 8, 2}) * 9);
  packet.set(field::true_visibility, torch::randint(4, {3, 8}, torch::kInt64));
  packet.set(field::true_attributes, torch::randint(3, {3, 5}).to(torch::kUInt8));
  return packet;
}

/// For the conformance suite.
inline std::vector<Packet> landmark_batches(seam::testing::Harness& /*harness*/) {
  return {landmark_batch(), landmark_batch()};
}

}  // namespace seam::stages
