#include "stages/model/capsule_module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <string>
#include <vector>

#include "tests/stages/model/descriptor_capsules_testing.hpp"

namespace seam::stages {
namespace capsule_module_test {

using seam::testing::Harness;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Sizes = std::vector<std::int64_t>;

const auto capsules_conformance = seam::testing::conformance<CapsuleModule>({
    .parameters = of_descriptors,
    .packets = [](Harness&) { return batches({field::embedding}); },
    .refused = {{{"capsule_size", std::int64_t{5}}}, {{"map_height", std::int64_t{7}}}},
    .without_effect = {{"precision", "capsules of descriptors are computed in float32"}},
});
const auto map_conformance = seam::testing::conformance<CapsuleModule>({
    .name = "map",
    .parameters = of_map,
    .packets = [](Harness&) { return batches({field::feature_map}); },
    .refused = {{{"primary_kernel", std::int64_t{6}}}},
    .second = {{"precision", std::string("bfloat16")}},
});

TEST(CapsuleModuleStage, ProvidesCapsulesOfDescriptorsAndLeavesThemAsTheyAre) {
  With<CapsuleModule> harness(of_descriptors);
  harness.push(batch(4));
  ASSERT_THAT(harness.errors(), IsEmpty());
  const Packet& out = harness.outputs().at(0);
  EXPECT_EQ(out[field::capsules].sizes(), (Sizes{4, 3, 4}));
  EXPECT_EQ(out[field::class_lengths].sizes(), (Sizes{4, 3}));
  EXPECT_TRUE(torch::equal(out[field::embedding], batch(4)[field::embedding]));
  // Attention adds nothing at first.
  EXPECT_TRUE(
      torch::allclose(out[field::capsules].norm(2, 2), out[field::class_lengths], 1e-4, 1e-6));
  std::vector<std::string> names;
  for (const NamedWeight& weight :
       dynamic_cast<CapsuleModule&>(harness.runner().stage()).weights()) {
    names.push_back(weight.name);
  }
  EXPECT_THAT(names, UnorderedElementsAre("w", "attention.gamma", "attention.query_conv.weight",
                                          "attention.query_conv.bias", "attention.key_conv.weight",
                                          "attention.key_conv.bias", "attention.value_conv.weight",
                                          "attention.value_conv.bias"));
}

TEST(CapsuleModuleStage, TheErrorOfPortsIsAnother) {
  const auto capsules = [](const char* compat) {
    With<CapsuleModule> harness(of_descriptors);
    harness.set("compat", compat).push(batch(4));
    EXPECT_THAT(harness.errors(), IsEmpty());
    return harness.outputs().at(0)[field::capsules].detach();
  };
  EXPECT_FALSE(torch::allclose(capsules("none"), capsules("routes_softmax"), 1e-2, 1e-3));
}

}  // namespace capsule_module_test
}  // namespace seam::stages
