#include "template_stage.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <utility>
#include <vector>

namespace {

using seam::testing::Harness;

seam::Packet batch(float first) {
  seam::Packet packet;
  packet.set(seam::field::images, torch::arange(first, first + 384).view({2, 3, 8, 8}) / 400);
  return packet;
}

// The conformance suite, which applies to every stage, in one line.
const auto conformance = seam::testing::conformance<TemplateStage>({.packets = [](Harness&) {
  return std::vector{batch(0), batch(7)};
}});

TEST(TemplateStage, GivesAnEmbeddingOfEachPicture) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.set("dimensions", 5).push(batch(5)).finish();
  ASSERT_EQ(harness.outputs().size(), 1U);
  const seam::Tensor embedding = harness.outputs()[0].get(seam::field::embedding);
  EXPECT_EQ(embedding.sizes(), (std::vector<std::int64_t>{2, 5}));
}

TEST(TemplateStage, LearnsInEveryWeight) {
  auto owned = std::make_unique<TemplateStage>();
  TemplateStage& stage = *owned;
  Harness harness("stage", std::move(owned));
  harness.training(true).push(batch(5));
  ASSERT_EQ(harness.outputs().size(), 1U);
  harness.outputs()[0].get(seam::field::embedding).square().sum().backward();
  for (const seam::NamedWeight& weight : stage.weights()) {
    EXPECT_TRUE(weight.tensor.grad().defined()) << weight.name;
  }
}

}  // namespace
