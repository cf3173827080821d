#include "stages/image/resize.hpp"

#include <gtest/gtest.h>

#include <seam/conformance.hpp>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages::resize_test {

using seam::testing::Harness;
using test::packet_with;

const auto conformance =
    testing::conformance<Resize>({.parameters = {{"height", std::int64_t{8}}}});

TEST(Resize, BringsPicturesToItsSize) {
  Harness harness("resize", std::make_unique<Resize>());
  harness.set("height", 12).set("width", 20).set("interpolation", "area");
  const Image image = test::smooth_picture(48, 40);
  const Image right = test::smooth_picture(12, 20);
  harness.push(packet_with(image)).push(packet_with(right));
  ASSERT_EQ(harness.outputs().size(), 2U);
  EXPECT_EQ(harness.outputs()[0].get(field::image),
            resize_image(image, 12, 20, Interpolation::area));
  EXPECT_EQ(harness.outputs()[1].get(field::image).data(), right.data()) << "not touched";
}

}  // namespace seam::stages::resize_test
