#include "template_stage.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <vector>

namespace {

using seam::testing::Harness;

/// Two pictures of category 0, with the mean (2, 0), and one of category 1.
seam::Packet batch(float first) {
  seam::Packet packet;
  packet.set(seam::field::embedding,
             torch::tensor({{first, 0.0F}, {4 - first, 0.0F}, {5.0F, 5.0F}}));
  packet.set(seam::field::categories, {0, 0, 1});
  return packet;
}

// The rules for every stage, in one line.
const auto conformance = seam::testing::conformance<TemplateStage>({.packets = [](Harness&) {
  return std::vector{batch(0), batch(1)};
}});

TEST(TemplateStage, IsTheMeanDistanceBeyondTheRadius) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.set("radius", 1.0).push(batch(0)).finish();
  ASSERT_EQ(harness.outputs().size(), 1U);
  EXPECT_DOUBLE_EQ(harness.metric("loss"), 2.0);  // (3 + 3 + 0) / 3
  EXPECT_DOUBLE_EQ(harness.metric("farthest"), 4.0);
}

TEST(TemplateStage, HasAGradientTowardsTheMean) {
  const at::AutoGradMode gradients(true);
  seam::Packet packet = batch(0);
  const seam::Tensor embedding = packet.get(seam::field::embedding).requires_grad_(true);
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.training(true).push(packet);
  ASSERT_EQ(harness.outputs().size(), 1U);
  harness.outputs()[0].get(seam::field::loss).backward();
  const seam::Tensor slope = embedding.grad();
  EXPECT_LT(slope[0][0].item<double>(), 0);  // a step against it moves the first picture up to 2
  EXPECT_GT(slope[1][0].item<double>(), 0);
  EXPECT_EQ(slope[2].abs().sum().item<double>(), 0);
}

}  // namespace
