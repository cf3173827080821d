/// Stages that read a feature map: model.descriptors and model.spatial_group_enhance.
#include "stages/model/descriptors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <string>
#include <vector>

#include "stages/model/spatial_group_enhance.hpp"

namespace seam::stages {
namespace descriptors_test {

using seam::testing::Harness;
using ::testing::IsEmpty;

Packet batch(std::int64_t images, std::int64_t channels = 8) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::feature_map, torch::rand({images, channels, 4, 3}));
  return packet;
}

std::vector<Packet> batches() {
  return {batch(5), batch(3)};
}

const auto conformance = seam::testing::conformance<Descriptors>({
    .parameters = {{"channels", std::int64_t{8}},
                   {"descriptors", std::vector<std::string>{"gem", "spoc", "mac", "gemmp"}},
                   {"dimensions", std::int64_t{6}},
                   {"classes", std::int64_t{3}}},
    .packets = [](Harness&) { return batches(); },
    .refused = {{{"descriptors", std::vector<std::string>{}}},
                {{"descriptors", std::vector<std::string>{"rmac"}}}},
});

const auto enhance_conformance = seam::testing::conformance<SpatialGroupEnhance>({
    .parameters = {{"channels", std::int64_t{8}}, {"groups", std::int64_t{4}}},
    .packets = [](Harness&) { return batches(); },
    .refused = {{{"groups", std::int64_t{3}}}},
    .without_effect = {{"precision", "nothing that it computes is done in bfloat16"}},
});

TEST(Descriptors, ProvideWhatTheyAreAskedFor) {
  Harness harness("descriptors", std::make_unique<Descriptors>());
  harness.set("channels", 8)
      .set("descriptors", Value{std::vector<std::string>{"mac", "gemmp"}})
      .set("dimensions", 5)
      .set("classes", 7)
      .push(batch(4));
  ASSERT_THAT(harness.errors(), IsEmpty());
  EXPECT_EQ(harness.outputs().at(0)[field::embedding].sizes(), (std::vector<std::int64_t>{4, 10}));
  EXPECT_EQ(harness.outputs().at(0)[field::logits].sizes(), (std::vector<std::int64_t>{4, 7}));
  std::vector<std::string> names;
  for (const NamedWeight& weight : dynamic_cast<Descriptors&>(harness.runner().stage()).weights()) {
    names.push_back(weight.name);
  }
  EXPECT_THAT(names,
              ::testing::UnorderedElementsAre("projection1.weight", "pool2.p", "projection2.weight",
                                              "bn.weight", "bn.bias", "fc.weight", "fc.bias"));
}

}  // namespace descriptors_test
}  // namespace seam::stages
