#include "stages/image/crop.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include <seam/refusal_testing.hpp>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages::crop_image_test {

/// A picture whose bytes count from 0.
Image counting(int height, int width, int channels) {
  Image image(height, width, channels);
  for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(i);
  return image;
}

TEST(CropImage, KeepsThePixelsOfTheRegion) {
  const Image part = crop_image(counting(3, 4, 1), {.top = 1, .left = 2, .height = 2, .width = 2});
  EXPECT_EQ(part.height(), 2);
  EXPECT_EQ(part.width(), 2);
  const auto pixels = part.pixels();
  EXPECT_THAT(std::vector<int>(pixels.begin(), pixels.end()), ::testing::ElementsAre(6, 7, 10, 11));
}

TEST(CropImage, KeepsAllChannels) {
  for (const int channels : {1, 3, 4}) {
    const Image image = counting(2, 3, channels);
    const Image part = crop_image(image, {.top = 1, .left = 1, .height = 1, .width = 2});
    ASSERT_EQ(part.channels(), channels);
    for (std::size_t i = 0; i < part.bytes(); ++i) {
      EXPECT_EQ(part.data()[i], image.row(1)[static_cast<std::size_t>(channels) + i]);
    }
  }
}

TEST(CropImage, DoesNotKeepTheWholePictureForItsPart) {
  const Image image = test::smooth_picture(5, 7);
  const Image part = crop_image(image, {.height = 5, .width = 6});
  EXPECT_EQ(image.owner().use_count(), 1);
  EXPECT_EQ(part.bytes(), 5U * 6U * 3U);
  EXPECT_EQ(crop_image(image, {.height = 5, .width = 7}).data(), image.data());
}

TEST(CropImage, RefusesRegionsBeyondThePicture) {
  const Image image = test::smooth_picture(5, 7);
  constexpr int most = std::numeric_limits<int>::max();
  for (const Region& region :
       {Region{0, 0, 0, 7}, Region{0, 0, 5, 0}, Region{-1, 0, 5, 7}, Region{0, -1, 5, 7},
        Region{1, 0, 5, 7}, Region{0, 1, 5, 7}, Region{most, 0, 1, 1}, Region{0, most, 1, 1},
        Region{0, 0, most, 1}}) {
    EXPECT_THROW(crop_image(image, region), std::invalid_argument);
  }
  EXPECT_THROW(crop_image(Image(), {}), std::invalid_argument);
}

TEST(CentreRegion, LiesInTheMiddleAsTorchvisionPlacesIt) {
  const auto top = [](int margin) {
    return centre_region(test::smooth_picture(10 + margin, 10), 10, 10).top;
  };
  // round(margin / 2) in Python, which rounds halves to even.
  EXPECT_THAT((std::vector<int>{top(0), top(1), top(2), top(3), top(4), top(5), top(6), top(7)}),
              ::testing::ElementsAre(0, 0, 1, 2, 2, 2, 3, 4));
  EXPECT_EQ(centre_region(test::smooth_picture(8, 13), 4, 6),
            (Region{.top = 2, .left = 4, .height = 4, .width = 6}));
}

TEST(CentreRegion, RefusesASmallerPicture) {
  EXPECT_REFUSED(centre_region(test::smooth_picture(64, 60), 64, 61), Fault::data,
                 "the image has height 64 and width 60, which is less than the crop's height 64 "
                 "and width 61; set a smaller height and width, or put image.resize before");
  EXPECT_REFUSED(centre_region(test::smooth_picture(63, 64), 64, 64), Fault::data,
                 "the image has height 63 and width 64");
}

TEST(RandomRegion, TakesEveryPlaceEquallyOften) {
  const Image image = test::smooth_picture(6, 5);
  const int draws = 6000;
  std::array<std::array<int, 4>, 3> count{};
  for (int i = 0; i < draws; ++i) {
    Random random(1, 2, 3, static_cast<std::uint64_t>(i));
    const Region region = random_region(image, 4, 2, random);
    EXPECT_EQ(region.height, 4);
    EXPECT_EQ(region.width, 2);
    ++count.at(static_cast<std::size_t>(region.top)).at(static_cast<std::size_t>(region.left));
  }
  const double share = 1.0 / 12;
  for (const auto& row : count) {
    for (const int n : row) {
      EXPECT_NEAR(n, draws * share, 5 * std::sqrt(draws * share * (1 - share)));
    }
  }
}

TEST(RandomRegion, IsTheWholePictureWhereItFitsExactly) {
  Random random(1, 2);
  EXPECT_EQ(random_region(test::smooth_picture(6, 5), 6, 5, random),
            (Region{.height = 6, .width = 5}));
  EXPECT_REFUSED(random_region(test::smooth_picture(6, 5), 7, 5, random), Fault::data,
                 "the image has height 6 and width 5");
}

constexpr SideRanges usual_ranges{0.08, 1, 3.0 / 4, 4.0 / 3};

Region resized_region(const Image& image, const SideRanges& ranges, std::uint64_t number = 0) {
  Random random(1, 2, 3, number);
  return random_resized_region(image, ranges, random);
}

TEST(RandomResizedRegion, IsWhatTheDrawsSay) {
  // torchvision's text, step by step, from the same random numbers.
  const int height = 60;
  const int width = 45;
  const Image image = test::smooth_picture(height, width);
  int second_attempts = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    Random random(1, 2, 3, i);
    Region expected;
    for (int attempt = 0; attempt < 10 && expected.width == 0; ++attempt) {
      const double area = height * width * (0.08 + 0.92 * random.uniform());
      const double aspect = 0.75 * std::pow(16.0 / 9, random.uniform());
      const auto w = static_cast<int>(std::lround(std::sqrt(area * aspect)));
      const auto h = static_cast<int>(std::lround(std::sqrt(area / aspect)));
      second_attempts += attempt == 1 ? 1 : 0;
      if (w > width || h > height) continue;
      const auto top = static_cast<int>(random.index(static_cast<std::uint64_t>(height - h) + 1));
      const auto left = static_cast<int>(random.index(static_cast<std::uint64_t>(width - w) + 1));
      expected = {.top = top, .left = left, .height = h, .width = w};
    }
    ASSERT_GT(expected.width, 0);
    EXPECT_EQ(resized_region(image, usual_ranges, i), expected) << i;
  }
  EXPECT_GT(second_attempts, 50);
}

TEST(RandomResizedRegion, IsInTheMiddleWhereNothingFits) {
  // The whole area at these aspects is longer than the picture on one side, whatever is drawn.
  constexpr SideRanges whole{1, 1, 3.0 / 4, 4.0 / 3};
  EXPECT_EQ(resized_region(test::smooth_picture(20, 201), whole),
            (Region{.top = 0, .left = 87, .height = 20, .width = 27}));
  EXPECT_EQ(resized_region(test::smooth_picture(200, 20), whole),
            (Region{.top = 86, .left = 0, .height = 27, .width = 20}));
  // 3 to 2, which the range has, at aspects that are drawn seldom: the whole picture.
  EXPECT_EQ(resized_region(test::smooth_picture(20, 30), {1, 1, 1.5, 100}, 1),
            (Region{.height = 20, .width = 30}));
}

TEST(RandomResizedRegion, HasAPixelAtLeast) {
  EXPECT_EQ(resized_region(test::smooth_picture(1, 1), {0.0001, 0.0002, 1, 1}),
            (Region{.height = 1, .width = 1}));
  EXPECT_EQ(resized_region(test::smooth_picture(9, 1), {1, 1, 50, 60}),
            (Region{.top = 4, .left = 0, .height = 1, .width = 1}));
  EXPECT_EQ(resized_region(test::smooth_picture(1, 8), {1, 1, 0.01, 0.1}),
            (Region{.top = 0, .left = 3, .height = 1, .width = 1}));
  EXPECT_THROW(resized_region(Image(), usual_ranges), std::invalid_argument);
}

TEST(BoxRegion, ReachesFromLeftTopToRightBottomAndRoundsAsPillowDoes) {
  const Image image = test::smooth_picture(20, 30);
  EXPECT_EQ(box_region(image, {3, 4, 30, 20}),
            (Region{.top = 4, .left = 3, .height = 16, .width = 27}));
  EXPECT_EQ(box_region(image, {0, 0, 1, 1}), (Region{.height = 1, .width = 1}));
  // Python: round(0.5) is 0, round(1.5) is 2, round(2.4) is 2, round(8.6) is 9.
  EXPECT_EQ(box_region(test::smooth_picture(20, 30), {0.5F, 1.5F, 2.4F, 8.6F}),
            (Region{.top = 2, .left = 0, .height = 7, .width = 2}));
}

TEST(BoxRegion, RefusesWhatDoesNotLieInThePicture) {
  const Image image = test::smooth_picture(20, 30);
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  using Box = std::array<float, 4>;
  for (const Box& box :
       {Box{-1, 0, 5, 5}, Box{0, -0.1F, 5, 5}, Box{0, 0, 30.1F, 5}, Box{0, 0, 5, 21},
        Box{6, 0, 5, 5}, Box{0, 6, 5, 5}, Box{nan, 0, 5, 5}, Box{0, nan, 5, 5}, Box{0, 0, nan, 5},
        Box{0, 0, 5, nan}, Box{0, 0, infinite, 5}, Box{-infinite, 0, 5, 5}}) {
    EXPECT_REFUSED(box_region(image, box), Fault::data,
                   "is not inside the image of height 20 and width 30: accepted are 0 <= left");
  }
}

TEST(BoxRegion, RefusesABoxWithoutPixels) {
  const Image image = test::smooth_picture(20, 30);
  EXPECT_REFUSED(box_region(image, {5, 0, 5, 5}), Fault::data,
                 "left 5, top 0, right 5 and bottom 5 contains no pixel");
  EXPECT_REFUSED(box_region(image, {0, 5, 5, 5}), Fault::data, "contains no pixel");
  EXPECT_REFUSED(box_region(image, {4.6F, 0, 5.4F, 5}), Fault::data, "contains no pixel");
}

}  // namespace seam::stages::crop_image_test
