#include "stages/dataset/wardrobe/drawing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <opencv2/imgproc.hpp>
#include <set>

#include "stages/dataset/wardrobe/camera.hpp"

namespace seam::stages::drawing_test {

double difference(const cv::Mat& a, const cv::Mat& b) {
  return cv::norm(a, b, cv::NORM_L1) / static_cast<double>(a.total() * 3);
}

TEST(WardrobePose, SleevesAreSpreadOnlyWhenLaidOut) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random of_worn(1, seed);
    Random of_flat(1, seed);
    EXPECT_LT(wardrobe::strike(of_worn, wardrobe::View::front).arm_left, 0.4);
    EXPECT_GT(wardrobe::strike(of_flat, wardrobe::View::flat).arm_left, 0.4);
  }
}

TEST(WardrobeDesign, ColourwaysChangeColoursAndNothingElse) {
  const GarmentDesign one = design_garment(5, 9, 1);
  const GarmentDesign three = design_garment(5, 9, 3);
  EXPECT_EQ(three.colourways.size(), 3U);
  EXPECT_EQ(one.colourways[0].base.red, three.colourways[0].base.red);
  EXPECT_EQ(one.pattern, three.pattern);
  EXPECT_EQ(one.sleeve_length, three.sleeve_length);
}

TEST(WardrobeDesign, PatternsShowInEveryColourway) {
  const auto grey = [](const Colour& c) {
    return 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue;
  };
  for (int item = 0; item < 50; ++item) {
    for (const Colourway& way : design_garment(7, item, 3).colourways) {
      EXPECT_GT(std::abs(grey(way.base) - grey(way.second)), 40) << item;
    }
  }
}

TEST(WardrobeDesign, GarmentsHaveAHeightAndEveryCategoryInTurn) {
  for (int item = 0; item < 500; ++item) {
    const GarmentDesign design = design_garment(11, item, 1);
    EXPECT_GT(design.bottom() - design.top(), 0.4) << item;
    EXPECT_GT(design.pattern_period, 0.05) << item;
  }
  const int categories = static_cast<int>(garment_categories().size());
  std::set<int> seen;
  for (int item = 0; item < categories; ++item) seen.insert(design_garment(1, item, 1).category);
  EXPECT_EQ(static_cast<int>(seen.size()), categories);
}

TEST(GarmentArtist, ViewsAndColoursDiffer) {
  GarmentArtist artist(7, 4, 2, 48);
  EXPECT_GT(difference(artist.draw(0, 0), artist.draw(0, 1)), 3);
  EXPECT_GT(difference(artist.draw(0, 0), artist.draw(1, 0)), 3);
}

TEST(GarmentArtist, DrawsEveryGarmentFromEverySide) {
  for (int item = 0; item < 56; ++item) {
    GarmentArtist artist(13, item, 1, 32);
    for (int view = 0; view < 6; ++view) {
      const cv::Mat3b picture = artist.draw(0, view);
      ASSERT_EQ(picture.size(), cv::Size(32, 32));
      cv::Scalar mean;
      cv::Scalar spread;
      cv::meanStdDev(picture, mean, spread);
      EXPECT_GT(spread[0] + spread[1] + spread[2], 15) << "item " << item << ", view " << view;
    }
  }
}

}  // namespace seam::stages::drawing_test
