#include "stages/dataset/wardrobe/drawing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <opencv2/imgproc.hpp>

#include "stages/dataset/wardrobe/figure.hpp"

namespace seam::stages::drawing_test {

using namespace wardrobe;

double difference(const cv::Mat& a, const cv::Mat& b) {
  return cv::norm(a, b, cv::NORM_L1) / static_cast<double>(a.total() * 3);
}

TEST(WardrobePose, SleevesAreSpreadOnlyWhenLaidOut) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random of_worn(1, seed);
    Random of_flat(1, seed);
    EXPECT_LT(strike(of_worn, /*worn=*/true, /*back=*/false).arms[0], 0.4);
    EXPECT_GT(strike(of_flat, /*worn=*/false, /*back=*/false).arms[0], 0.4);
  }
}

TEST(WardrobeCamera, TurningKeepsRightAngles) {
  const Camera camera{.scale = 50, .centre = {}, .target = {}, .turn = 0.3};
  const Point across = camera.flat({1, 0}) - camera.flat({0, 0});
  const Point down = camera.flat({0, 1}) - camera.flat({0, 0});
  EXPECT_NEAR(across.dot(down), 0, 1e-9);
}

TEST(WardrobeDesign, ColourwaysChangeColoursAndNothingElse) {
  const GarmentDesign one = design_garment(5, 9, 1);
  const GarmentDesign three = design_garment(5, 9, 3);
  EXPECT_EQ(three.colourways.size(), 3U);
  EXPECT_EQ(one.colourways[0].base, three.colourways[0].base);
  EXPECT_EQ(one.pattern, three.pattern);
  EXPECT_EQ(one.sleeve_length, three.sleeve_length);
}

TEST(WardrobeDesign, PatternsShowInEveryColourway) {
  for (int item = 0; item < 50; ++item) {
    for (const Colourway& way : design_garment(7, item, 3).colourways) {
      EXPECT_GT(std::abs(brightness(way.base) - brightness(way.second)), 40) << item;
    }
  }
}

TEST(WardrobeDesign, GarmentsHaveAHeight) {
  for (int item = 0; item < 500; ++item) {
    const GarmentDesign design = design_garment(11, item, 1);
    EXPECT_GT(design.bottom() - design.top(), 0.4) << item;
  }
}

TEST(GarmentArtist, ViewsAndColoursDiffer) {
  const GarmentArtist one(7, 4, 0, 48);
  const GarmentArtist other(7, 4, 1, 48);
  EXPECT_GT(difference(one.draw(0), one.draw(1)), 3);
  EXPECT_GT(difference(one.draw(0), other.draw(0)), 3);
}

TEST(GarmentArtist, DrawsEveryGarmentFromEverySide) {
  for (int item = 0; item < 56; ++item) {
    const GarmentArtist artist(13, item, 0, 32);
    for (int view = 0; view < 6; ++view) {
      const cv::Mat3b picture = artist.draw(view);
      ASSERT_EQ(picture.size(), cv::Size(32, 32));
      cv::Scalar mean;
      cv::Scalar spread;
      cv::meanStdDev(picture, mean, spread);
      EXPECT_GT(spread[0] + spread[1] + spread[2], 15) << "item " << item << ", view " << view;
    }
  }
}

}  // namespace seam::stages::drawing_test
