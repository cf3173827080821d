/// Shared by tests of Siamese capsule networks: a small network's parameters, and its results.
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/testing.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/stages/model/network_testing.hpp"

namespace seam::test::siamese {

using Parameters = std::map<std::string, Value>;

inline Packet batch(std::int64_t rows = 4) {
  return images_of(rows, 24, 26);
}

inline Parameters small(Parameters more = {}) {
  more.insert({{"image_height", std::int64_t{24}},
               {"image_width", std::int64_t{26}},
               {"kernel", std::int64_t{5}},
               {"primary_kernel", std::int64_t{3}},
               {"width", std::int64_t{4}},
               {"primary_capsules", std::int64_t{2}},
               {"capsule_size", std::int64_t{4}},
               {"face_capsules", std::int64_t{5}},
               {"face_capsule_size", std::int64_t{3}},
               {"dimensions", std::int64_t{6}}});
  return more;
}

inline std::vector<Packet> batches(testing::Harness& /*harness*/) {
  return {batch(), batch()};
}

template <class Stage>
Packet output(const Parameters& parameters, bool training, Packet packet = batch()) {
  testing::Harness harness("model", std::make_unique<Stage>());
  for (const auto& [name, value] : parameters) harness.set(name, value);
  harness.training(training).push(std::move(packet));
  EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  return harness.outputs().at(0);
}

}  // namespace seam::test::siamese
