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
const auto conformance = seam::testing::conformance<TemplateStage>(
    {.parameters = {{"batches", std::int64_t{2}}}, .packets = [](Harness&) {
       return std::vector{batch(0), batch(1), batch(2)};
     }});

TEST(TemplateStage, JoinsBatchesInOrder) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.set("batches", 2).push(batch(1)).push(batch(2)).push(batch(3)).finish();
  ASSERT_EQ(harness.outputs().size(), 2U);
  const seam::Tensor images = harness.outputs()[0].get(seam::field::images);
  ASSERT_EQ(images.size(0), 4);
  EXPECT_EQ(images[1].max().item<float>(), 1);
  EXPECT_EQ(images[2].max().item<float>(), 2);
}

}  // namespace
