/// Shared by tests of networks: packets of images, stages with parameters, weights.
#pragma once

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/packet.hpp>
#include <seam/safetensors.hpp>
#include <seam/tensor.hpp>
#include <seam/testing.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace seam::test {

using Parameters = seam::testing::Example::Parameters;

/// A packet of images [count,3,height,width] from 0 to 1, always the same ones.
inline Packet images_of(std::int64_t count, std::int64_t height, std::int64_t width) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({count, 3, height, width}));
  return packet;
}

/// Two batches of these images.
inline auto batches_of(std::int64_t height, std::int64_t width) {
  return [height, width](seam::testing::Harness& /*harness*/) {
    return std::vector<Packet>{images_of(5, height, width), images_of(3, height, width)};
  };
}

/// Number of elements in the trained weights of a network.
inline std::int64_t count_of_numbers(const torch::nn::Module& network) {
  std::int64_t sum = 0;
  for (const torch::Tensor& weight : network.parameters()) sum += weight.numel();
  return sum;
}

/// A harness around a stage with parameters.
template <class Stage>
struct With : seam::testing::Harness {
  explicit With(const Parameters& parameters = {})
      : seam::testing::Harness(std::string(Stage::name), std::make_unique<Stage>()) {
    for (const auto& [name, value] : parameters) set(name, value);
  }

  /// Of the opened stage.
  std::vector<NamedWeight> weights() { return dynamic_cast<Stage&>(runner().stage()).weights(); }
  std::vector<std::string> names_of_weights() {
    std::vector<std::string> names;
    for (const NamedWeight& weight : weights()) names.push_back(weight.name);
    return names;
  }
  std::map<std::string, torch::Tensor> weights_by_name() {
    std::map<std::string, torch::Tensor> all;
    for (const NamedWeight& weight : weights()) all[weight.name] = weight.tensor.detach();
    return all;
  }
};

/// The shapes of a new network's weights by name.
template <class Stage>
std::map<std::string, std::vector<std::int64_t>> shapes_of(const Parameters& parameters) {
  With<Stage> harness(parameters);
  harness.open();
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const NamedWeight& weight : harness.weights()) {
    shapes[weight.name] = weight.tensor.sizes().vec();
  }
  return shapes;
}

/// The packet after a new network, which must accept it.
template <class Stage>
Packet output(const Parameters& parameters, const Packet& packet, bool training = false) {
  With<Stage> harness(parameters);
  harness.training(training).push(packet);
  EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  return harness.outputs().at(0);
}

/// Writes tensors to a file of weights.
inline std::filesystem::path saved_weights(const TemporaryFolder& folder, const Archive& archive) {
  const std::vector<std::byte> bytes = safetensors_bytes({archive.entries(), {}});
  return folder.write("weights.safetensors",
                      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace seam::test
