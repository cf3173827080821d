/// Batches of images for the tests of baselines.
#pragma once

#include <seam/tensor.hpp>
#include <seam/testing.hpp>

namespace seam::stages::baseline_test {

inline Packet packet_of(const Tensor& images) {
  Packet packet;
  packet.set(field::images, images);
  return packet;
}

/// For conformance.
inline std::vector<Packet> packets(testing::Harness& /*harness*/) {
  std::vector<Packet> packets;
  for (const float scale : {1.F, 2.F, 3.F}) {
    packets.push_back(packet_of((torch::arange(48.F).view({2, 3, 2, 4}) * scale).sin().abs()));
  }
  return packets;
}

}  // namespace seam::stages::baseline_test
