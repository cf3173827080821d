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
#include <torch/utils.h>

#include <memory>
#include <string>
#include <vector>

#include "seam/archive.hpp"
#include "seam/conformance_checks.hpp"
#include "seam/packet.hpp"
#include "seam/stage.hpp"
#include "seam/tensor.hpp"

namespace seam::testing {

/// Whether this machine and this LibTorch have the device: "cpu", "cuda:0".
inline bool has_device(const std::string& name) {
  const torch::Device device(name);
  return device.is_cpu() || (device.is_cuda() && device.index() < torch::cuda::device_count());
}

/// Moves all tensors of a packet to the device.
inline void move_tensors(Packet& packet, const std::string& device) {
  for (Packet::Slot slot : std::vector(packet.slots())) {
    if (slot.type->name != field_type<Tensor>.name) continue;
    const Tensor& tensor = *static_cast<const Tensor*>(slot.value.get());
    if (!tensor.defined()) continue;
    slot.value = std::make_shared<Tensor>(tensor.to(torch::Device(device)));
    packet.put(std::move(slot));
  }
}

/// A stage's weights as an optimizer sees them: their rates and their gradients for a function of
/// the last emitted packet. Empty for a stage without weights.
inline Archive weights_and_gradients(Stage& stage, const std::vector<Packet>& outputs) {
  Archive archive;
  auto* trainable = dynamic_cast<Trainable*>(&stage);
  if (trainable == nullptr || outputs.empty()) return archive;
  const at::AutoGradMode gradients(true);
  Tensor sum = torch::zeros({}, torch::kFloat64);
  for (const Packet::Slot& slot : outputs.back().slots()) {
    if (slot.type->name != field_type<Tensor>.name) continue;
    const Tensor& tensor = *static_cast<const Tensor*>(slot.value.get());
    if (!tensor.defined() || !tensor.requires_grad()) continue;
    const Tensor values = tensor.to(torch::kCPU, torch::kFloat64).flatten();
    sum = sum + values.dot(torch::arange(values.numel(), torch::kFloat64).cos());
  }
  try {
    if (sum.requires_grad()) sum.backward();
  } catch (const c10::Error&) {
    // The end of the flow has restored a buffer that the gradient needs.
  }
  for (const NamedWeight& weight : trainable->weights()) {
    put_tensor(archive, weight.name + ".rate", torch::tensor(weight.rate_scale));
    if (weight.tensor.grad().defined()) put_tensor(archive, weight.name, weight.tensor.grad());
  }
  return archive;
}

/// LibTorch's settings of the calling thread. LibTorch and OpenMP have one number of threads.
inline std::vector<ThreadSetting> thread_settings() {
  return {{"LibTorch's gradient mode", at::GradMode::is_enabled() ? "on" : "off",
           "change it with at::AutoGradMode or torch::NoGradGuard, which restore it"},
          {"the number of threads of LibTorch and OpenMP", std::to_string(at::get_num_threads()),
           "remove at::set_num_threads() or omp_set_num_threads(); the run decides the number, "
           "context.compute_threads()"}};
}

/// A test that runs on the CPU, and once more on a GPU if there is one.
class EachDevice : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] torch::Device device() const { return torch::Device(GetParam()); }
};

/// The parameters of EachDevice's tests and their name suffixes.
inline auto devices_to_test() {
  std::vector<std::string> devices{"cpu"};
  if (has_device("cuda:0")) devices.emplace_back("cuda:0");
  return ::testing::ValuesIn(devices);
}
inline std::string device_case(const ::testing::TestParamInfo<std::string>& info) {
  return info.param.substr(0, info.param.find(':'));
}

}  // namespace seam::testing

/// A macro, because GoogleTest's is one.
#define SEAM_ON_EACH_DEVICE(Suite)                                           \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, seam::testing::devices_to_test(), \
                           seam::testing::device_case)
