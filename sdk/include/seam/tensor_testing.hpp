/// Tests of tensors on each kind of device that this project knows, skipped by name where it is not
/// there.
///
///     class SquashTest : public seam::testing::EachDevice {};
///     SEAM_ON_EACH_DEVICE(SquashTest);
///     TEST_P(SquashTest, KeepsDirections) { ... torch::rand({4, 8}, device()) ... }
///
///     [  SKIPPED ] Devices/SquashTest.KeepsDirections/cuda (there is no device 'cuda:0')
///
/// Needs GoogleTest and Seam::tensor.
#pragma once

#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <memory>
#include <string>

#include "seam/packet.hpp"
#include "seam/tensor.hpp"

namespace seam::testing {

/// Whether this machine and this LibTorch have the device: "cpu", "cuda:0".
inline bool has_device(const std::string& name) {
  const torch::Device device(name);
  return device.is_cpu() || (device.is_cuda() && device.index() < torch::cuda::device_count());
}

/// Why a test is skipped.
inline std::string no_such_device(const std::string& name) {
  return torch::Device(name).is_cuda() && torch::cuda::device_count() == 0
             ? std::string("no CUDA device")
             : "no device '" + name + "'";
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

/// A test that runs once on the CPU and once on a GPU.
class EachDevice : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_device(GetParam())) GTEST_SKIP() << no_such_device(GetParam());
  }
  [[nodiscard]] torch::Device device() const { return torch::Device(GetParam()); }
};

/// What EachDevice's tests are instantiated with, and how the cases are called.
inline auto devices_to_test() {
  return ::testing::Values(std::string("cpu"), std::string("cuda:0"));
}
inline std::string device_case(const ::testing::TestParamInfo<std::string>& info) {
  return info.param.substr(0, info.param.find(':'));
}

}  // namespace seam::testing

/// A macro because GoogleTest's is one.
#define SEAM_ON_EACH_DEVICE(Suite)                                           \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, seam::testing::devices_to_test(), \
                           seam::testing::device_case)
