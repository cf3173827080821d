#include "template_stage.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <vector>

namespace {

using seam::testing::Harness;

seam::Packet batch(float first) {
  seam::Packet packet;
  packet.set(seam::field::images, torch::arange(first, first + 96).view({2, 3, 4, 4}));
  return packet;
}

// The conformance suite, which applies to every stage, in one line.
const auto conformance = seam::testing::conformance<TemplateStage>({.packets = [](Harness&) {
  return std::vector{batch(0), batch(7)};
}});

TEST(TemplateStage, StandardisesEachPicture) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.push(batch(5)).finish();
  ASSERT_EQ(harness.outputs().size(), 1U);
  const seam::Tensor images = harness.outputs()[0].get(seam::field::images);
  for (int picture = 0; picture < 2; ++picture) {
    EXPECT_NEAR(images[picture].mean().item<double>(), 0, 1e-5);
    EXPECT_NEAR(images[picture].square().mean().item<double>(), 1, 1e-5);
  }
}

}  // namespace
