#include "template_stage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

namespace {

using seam::testing::Harness;

// The conformance suite, which applies to every stage, in one line.
const auto conformance = seam::testing::conformance<TemplateStage>();

seam::Packet picture(std::uint8_t value) {
  seam::Image image(4, 6, 3);
  std::fill_n(image.data(), image.bytes(), value);
  seam::Packet packet;
  packet.set(seam::field::image, image);
  return packet;
}

int value_of(const seam::Packet& packet) {
  return packet.get(seam::field::image).data()[0];
}

TEST(TemplateStage, SendsOnTheBrightest) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.set("of", 3);
  for (const int value : {10, 30, 20, 5, 4}) {
    harness.push(picture(static_cast<std::uint8_t>(value)));
  }
  ASSERT_EQ(harness.outputs().size(), 1U);
  EXPECT_EQ(value_of(harness.outputs()[0]), 30);
  harness.finish();  // the last two are fewer than three
  ASSERT_EQ(harness.outputs().size(), 2U);
  EXPECT_EQ(value_of(harness.outputs()[1]), 5);
  EXPECT_EQ(harness.drops().size(), 3U);
}

}  // namespace
