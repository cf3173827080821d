/// Batches and parameters for the tests of model.capsule_module, model.capsules, model.concat and
/// model.self_attention, which follow each other in a pipeline.
#pragma once

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <vector>

#include "stages/model/capsule_module.hpp"
#include "stages/model/capsules.hpp"
#include "tests/stages/model/network_testing.hpp"

namespace seam::stages {

inline Packet batch(std::int64_t images) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::embedding, torch::nn::functional::normalize(torch::randn({images, 24})));
  packet.set(field::feature_map, torch::randn({images, 16, 5, 6}));
  packet.set(field::capsules, 0.3 * torch::randn({images, 3, 4}));
  return packet;
}

/// Only these fields of the batch.
inline std::vector<Packet> batches(const std::vector<Field<Tensor>>& fields) {
  std::vector<Packet> all;
  for (const std::int64_t images : {5, 3}) {
    const Packet whole = batch(images);
    Packet packet;
    for (const Field<Tensor>& field : fields) packet.set(field, whole.get(field));
    all.push_back(packet);
  }
  return all;
}

using test::Parameters, test::With;

inline const Parameters of_descriptors{{"width", std::int64_t{24}},
                                       {"capsule_size", std::int64_t{4}},
                                       {"classes", std::int64_t{3}},
                                       {"class_capsule_size", std::int64_t{4}}};
inline const Parameters of_map{
    {"channels", std::int64_t{16}},          {"primary_capsules", std::int64_t{2}},
    {"capsule_size", std::int64_t{4}},       {"classes", std::int64_t{3}},
    {"class_capsule_size", std::int64_t{4}}, {"primary_kernel", std::int64_t{3}},
    {"map_height", std::int64_t{5}},         {"map_width", std::int64_t{6}}};

}  // namespace seam::stages
