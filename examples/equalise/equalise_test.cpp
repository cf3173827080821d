#include "equalise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

namespace {

using seam::testing::Harness;

const auto conformance =
    seam::testing::conformance<Equalise>({.parameters = {{"tiles", std::int64_t{2}}}});

/// Greys from `darkest` to `darkest + 31`.
seam::Packet dim_picture(int darkest) {
  seam::Image image(32, 32, 3);
  for (int y = 0; y < 32; ++y)
    std::fill_n(image.row(y), image.row_bytes(), static_cast<std::uint8_t>(darkest + y));
  seam::Packet packet;
  packet.set(seam::field::image, image);
  return packet;
}

int contrast(const seam::Image& image) {
  const auto [least, most] = std::ranges::minmax(image.pixels());
  return most - least;
}

TEST(Equalise, SpreadsNarrowHistograms) {
  Harness harness("equalise", std::make_unique<Equalise>());
  harness.set("clip_limit", 40.0).set("tiles", 1).push(dim_picture(60)).finish();
  ASSERT_EQ(harness.outputs().size(), 1U);
  EXPECT_GT(contrast(harness.outputs()[0].get(seam::field::image)), 200);
}

TEST(Equalise, WantsColours) {
  seam::Packet packet;
  packet.set(seam::field::image, seam::Image(4, 4, 1));
  Harness harness("equalise", std::make_unique<Equalise>());
  harness.push(packet).finish();
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_STREQ(harness.errors()[0].what(), "three channels are needed: red, green, blue");
}

}  // namespace
