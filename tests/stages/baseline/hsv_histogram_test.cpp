#include "stages/baseline/hsv_histogram.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/stages/baseline/packets.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::hsv_histogram_test {

using seam::testing::Harness;

using baseline_test::packet_of;

const auto conformance = seam::testing::conformance<HsvHistogram>({
    .packets = &baseline_test::packets,
    .refused = {{{"hues", std::int64_t{0}}}},
});

TEST(HsvBin, OfKnownColours) {
  constexpr HsvBins bins{6, 2, 2};
  const auto bin = [&](std::int64_t hue, std::int64_t saturation, std::int64_t value) {
    return (hue * 2 + saturation) * 2 + value;
  };
  EXPECT_EQ(hsv_bin({0, 0, 0}, bins), bin(0, 0, 0));
  EXPECT_EQ(hsv_bin({255, 255, 255}, bins), bin(0, 0, 1));
  EXPECT_EQ(hsv_bin({127, 127, 127}, bins), bin(0, 0, 0));
  EXPECT_EQ(hsv_bin({128, 128, 128}, bins), bin(0, 0, 1));
  EXPECT_EQ(hsv_bin({255, 0, 0}, bins), bin(0, 1, 1));    // red, 0 degrees
  EXPECT_EQ(hsv_bin({255, 255, 0}, bins), bin(1, 1, 1));  // yellow, 60: the upper range
  EXPECT_EQ(hsv_bin({0, 255, 0}, bins), bin(2, 1, 1));
  EXPECT_EQ(hsv_bin({0, 255, 255}, bins), bin(3, 1, 1));
  EXPECT_EQ(hsv_bin({0, 0, 255}, bins), bin(4, 1, 1));
  EXPECT_EQ(hsv_bin({255, 0, 255}, bins), bin(5, 1, 1));
  EXPECT_EQ(hsv_bin({255, 0, 1}, bins), bin(5, 1, 1));  // just below 360
  EXPECT_EQ(hsv_bin({100, 50, 50}, bins), bin(0, 1, 0));
  EXPECT_EQ(hsv_bin({100, 51, 51}, bins), bin(0, 0, 0));
}

TEST(HsvBin, EveryColourHasOne) {
  constexpr HsvBins bins{18, 4, 4};
  for (int red = 0; red < 256; red += 5) {
    for (int green = 0; green < 256; green += 3) {
      for (int blue = 0; blue < 256; ++blue) {
        const std::int64_t bin =
            hsv_bin({static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green),
                     static_cast<std::uint8_t>(blue)},
                    bins);
        ASSERT_GE(bin, 0);
        ASSERT_LT(bin, bins.count());
      }
    }
  }
}

TEST(HsvHistogram, OfFourPixelsByHand) {
  Harness harness("histogram", std::make_unique<HsvHistogram>());
  harness.set("hues", 2).set("saturations", 1).set("values", 1);
  // Red, red, red, blue: three quarters in the first half of the circle.
  const Tensor red = torch::tensor({1.F, 1.F, 1.F, 0.F});
  const Tensor blue = torch::tensor({0.F, 0.F, 0.F, 1.F});
  const Tensor images = torch::stack({red, torch::zeros({4}), blue}).view({1, 3, 2, 2});
  harness.push(packet_of(images)).finish();
  ASSERT_EQ(harness.outputs().size(), 1);
  const Tensor expected = torch::tensor({{std::sqrt(0.75F), 0.5F}});
  EXPECT_TRUE(torch::allclose(harness.outputs()[0].get(field::embedding), expected, 0, 1e-7));
}

TEST(HsvHistogram, SharesAddUpToOne) {
  Harness harness("histogram", std::make_unique<HsvHistogram>());
  harness.set("scale", "share").push(packet_of(torch::rand({3, 3, 7, 5}))).finish();
  ASSERT_EQ(harness.outputs().size(), 1);
  const Tensor sums = harness.outputs()[0].get(field::embedding).sum(1);
  EXPECT_TRUE(torch::allclose(sums, torch::ones({3}), 0, 1e-6)) << sums;
}

TEST(HsvHistogram, WhereAPixelLiesDoesNotMatter) {
  Harness harness("histogram", std::make_unique<HsvHistogram>());
  const Tensor picture = torch::rand({1, 3, 6, 4});
  harness.push(packet_of(torch::cat({picture, picture.flip({2, 3})}))).finish();
  const Tensor embedding = harness.outputs().at(0).get(field::embedding);
  EXPECT_TRUE(torch::equal(embedding[0], embedding[1]));
}

TEST(HsvHistogram, NormalisedPixelsAreRefusedByThePicturesName) {
  for (const float wrong : {-0.5F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
    Harness harness("histogram", std::make_unique<HsvHistogram>());
    Tensor images = torch::rand({2, 3, 2, 2});
    images[1][0][0][1] = wrong;
    Packet packet = packet_of(images);
    packet.set(field::origins, {Origin{std::make_shared<std::string>("list.txt"), 3, "a.jpg"},
                                Origin{std::make_shared<std::string>("list.txt"), 4, "b.jpg"}});
    harness.push(std::move(packet)).finish();
    EXPECT_THAT(only_error(harness).full_message(), HasSubstr("b.jpg"));
    EXPECT_THAT(harness.errors()[0].full_message(), HasSubstr("without `mean` and `deviation`"));
  }
}

}  // namespace seam::stages::hsv_histogram_test
