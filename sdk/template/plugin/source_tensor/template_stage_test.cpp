#include "template_stage.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

namespace {

using seam::testing::Harness;

// The conformance suite, which applies to every stage, in one line.
const auto conformance = seam::testing::conformance<TemplateStage>();

TEST(TemplateStage, MakesNoiseThatDependsOnTheSeedAlone) {
  Harness one("stage", std::make_unique<TemplateStage>());
  Harness other("stage", std::make_unique<TemplateStage>());
  one.seed(1).set("batches", 2).produce();
  other.seed(2).set("batches", 2).produce();
  ASSERT_EQ(one.outputs().size(), 2U);
  const seam::Tensor images = one.outputs()[0].get(seam::field::images);
  EXPECT_NEAR(images.mean().item<double>(), 0.5, 0.02);
  EXPECT_FALSE(torch::equal(images, other.outputs()[0].get(seam::field::images)));
}

}  // namespace
