#include "template_stage.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

namespace {

using seam::testing::Harness;

// The conformance suite, which applies to every stage, in one line.
const auto conformance = seam::testing::conformance<TemplateStage>();

TEST(TemplateStage, DrawsWiderAndWiderStripes) {
  Harness harness("stage", std::make_unique<TemplateStage>());
  harness.set("pictures", 3).set("side", 8).produce();
  ASSERT_EQ(harness.outputs().size(), 3U);
  const seam::Image& second = harness.outputs()[1].get(seam::field::image);
  EXPECT_EQ(second.width(), 8);
  EXPECT_EQ(second.row(0)[3], 0);        // pixels 0 and 1 are black
  EXPECT_EQ(second.row(0)[3 * 2], 255);  // 2 and 3 are white
}

}  // namespace
