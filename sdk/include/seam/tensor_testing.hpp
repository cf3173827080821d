// SPDX-License-Identifier: Apache-2.0
/// Tests of tensors on each kind of device that the machine has: the CPU, and a GPU if there is
/// one.
///
///     class SquashTest : public seam::testing::EachDevice {};
///     SEAM_ON_EACH_DEVICE(SquashTest);
///     TEST_P(SquashTest, KeepsDirections) { ... torch::rand({4, 8}, device()) ... }
///
///     [       OK ] Devices/SquashTest.KeepsDirections/cpu
///
/// Needs GoogleTest and Seam::tensor.
#pragma once

#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "seam/packet.hpp"
#include "seam/tensor.hpp"

namespace seam::testing {

/// Whether this machine and this LibTorch have the device: "cpu", "cuda:0".
inline bool has_device(const std::string& name) {
  const torch::Device device(name);
  return device.is_cpu() || (device.is_cuda() && device.index() < torch::cuda::device_count());
}

/// Puts all tensors of a packet on the device.
inline void move_tensors(Packet& packet, const std::string& device) {
  for (Packet::Slot slot : std::vector(packet.slots())) {
    if (slot.type->name != field_type<Tensor>.name) continue;
    const Tensor& tensor = *static_cast<const Tensor*>(slot.value.get());
    if (!tensor.defined()) continue;
    slot.value = std::make_shared<Tensor>(tensor.to(torch::Device(device)));
    packet.put(std::move(slot));
  }
}

/// A test that runs on the CPU, and once more on a GPU if there is one.
class EachDevice : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] torch::Device device() const { return torch::Device(GetParam()); }
};

/// The parameters of EachDevice's tests, and the ends of their names.
inline auto devices_to_test() {
  std::vector<std::string> devices{"cpu"};
  if (has_device("cuda:0")) devices.emplace_back("cuda:0");
  return ::testing::ValuesIn(devices);
}
inline std::string device_case(const ::testing::TestParamInfo<std::string>& info) {
  return info.param.substr(0, info.param.find(':'));
}

}  // namespace seam::testing

/// A macro because GoogleTest's is one.
#define SEAM_ON_EACH_DEVICE(Suite)                                           \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, seam::testing::devices_to_test(), \
                           seam::testing::device_case)
