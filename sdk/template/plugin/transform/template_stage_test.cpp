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

TEST(TemplateStage, MeasuresTheMean) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.push(picture(80)).finish();
  ASSERT_EQ(harness.outputs().size(), 1U);
  EXPECT_EQ(harness.outputs()[0].get(brightness), 80);
}

TEST(TemplateStage, DropsDarkPictures) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.set("least", 100).push(picture(80)).push(picture(120)).finish();
  EXPECT_EQ(harness.outputs().size(), 1U);
  ASSERT_EQ(harness.drops().size(), 1U);
  EXPECT_EQ(harness.drops()[0].reason, "too dark");
}

}  // namespace
