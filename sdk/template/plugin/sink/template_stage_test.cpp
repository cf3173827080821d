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

TEST(TemplateStage, ReportsTheMeanOfAFlow) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.push(picture(51)).push(picture(153)).finish();
  EXPECT_DOUBLE_EQ(harness.metric("brightness"), 0.4);
}

}  // namespace
