#include "template_stage.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <vector>

namespace {

using seam::testing::Harness;

seam::Packet batch(float value) {
  seam::Packet packet;
  packet.set(seam::field::images, torch::full({2, 3, 4, 4}, value));
  return packet;
}

// The conformance suite, which applies to every stage, in one line.
const auto conformance = seam::testing::conformance<TemplateStage>({.packets = [](Harness&) {
  return std::vector{batch(0.25F), batch(0.5F)};
}});

TEST(TemplateStage, ReportsTheMeanOfAFlow) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.push(batch(0.25F)).push(batch(0.75F)).finish();
  EXPECT_DOUBLE_EQ(harness.metric("brightness"), 0.5);
}

}  // namespace
