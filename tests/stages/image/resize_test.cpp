#include "stages/image/resize.hpp"

#include <gtest/gtest.h>

#include <memory>

#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>

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
  harness.push(packet_with(image));
  ASSERT_EQ(harness.outputs().size(), 1U);
  EXPECT_EQ(harness.outputs()[0].get(field::image),
            resize_image(image, 12, 20, Interpolation::area));
}

TEST(Resize, PassesPicturesOfItsSizeOnUntouched) {
  Harness harness("resize", std::make_unique<Resize>());
  const Image image = test::smooth_picture(256, 256);
  harness.push(packet_with(image));
  ASSERT_EQ(harness.outputs().size(), 1U);
  EXPECT_EQ(harness.outputs()[0].get(field::image).data(), image.data());
}

TEST(Resize, RefusesASideOfNothing) {
  Harness harness("resize", std::make_unique<Resize>());
  EXPECT_REFUSED(harness.set("height", 0), Fault::configuration,
                 "parameter 'height' of stage 'resize': 0 is ");
  EXPECT_REFUSED(harness.set("interpolation", "cubic"), Fault::configuration,
                 "parameter 'interpolation' of stage 'resize': ");
}

}  // namespace seam::stages::resize_test
