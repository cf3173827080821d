/// Shared by tests of networks: packets of images, stages with parameters, weights.
#pragma once

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
#include <memory>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace seam::test {

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
  explicit With(const seam::testing::Example::Parameters& parameters = {})
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
};

/// Writes tensors to a file of weights.
inline std::filesystem::path saved_weights(const TemporaryFolder& folder, const Archive& archive) {
  const std::vector<std::byte> bytes = safetensors_bytes({archive.entries(), {}});
  return folder.write("weights.safetensors",
                      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace seam::test
