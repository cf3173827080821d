#include "stages/image/augment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages::augment_image_test {

using test::greys;

const std::vector<int> nine{10, 20, 30, 40, 50, 60, 70, 80, 90};

TEST(AugmentImage, MovesPixels) {
  const Image image = test::grey_picture(3, 3, nine);
  EXPECT_EQ(augment_image(image, {}).data(), image.data()) << "changed nothing";
  struct Case {
    Augmentation augmentation;
    std::vector<int> expected;
  };
  const std::vector<Case> cases{
      // Clockwise around the middle.
      {{.rotation_degrees = 90}, {70, 40, 10, 80, 50, 20, 90, 60, 30}},
      // A third of three pixels: the source is looked up one row further down; the edge is
      // repeated.
      {{.shift_rows = 1.0 / 3}, {40, 50, 60, 70, 80, 90, 70, 80, 90}},
      {{.shift_columns = 1.0 / 3}, {20, 30, 30, 50, 60, 60, 80, 90, 90}},
      // Twice the source around the middle pixel: the corners are two pixels away, so at the edge.
      {{.zoom_rows = 2, .zoom_columns = 0.5}, {15, 20, 25, 45, 50, 55, 75, 80, 85}},
      {{.flip = true}, {30, 20, 10, 60, 50, 40, 90, 80, 70}},
      {{.shift_columns = 1.0 / 3, .flip = true}, {30, 30, 20, 60, 60, 50, 90, 90, 80}}};
  for (const Case& each : cases) {
    EXPECT_EQ(greys(augment_image(image, each.augmentation)), each.expected);
  }
}

TEST(AugmentImage, BrightensAndCutsAt255) {
  EXPECT_EQ(greys(augment_image(test::grey_picture(1, 4, {0, 101, 170, 255}), {.brightness = 1.5})),
            (std::vector<int>{0, 152, 255, 255}));
  EXPECT_EQ(greys(augment_image(test::grey_picture(1, 4, {0, 101, 170, 255}), {.brightness = 0.5})),
            (std::vector<int>{0, 51, 85, 128}));
}

TEST(AugmentImage, StretchesContrastOnlyWhereAsked) {
  const Image image = test::grey_picture(1, 3, {20, 60, 100});
  EXPECT_EQ(greys(augment_image(image, {}, Centre::middle, Contrast::stretch)),
            (std::vector<int>{51, 153, 255}));  // x 2.55; the smallest value is not moved to 0
  EXPECT_EQ(greys(augment_image(image, {.brightness = 0.6}, Centre::middle, Contrast::stretch)),
            (std::vector<int>{31, 92, 153}));
  const Image black = test::grey_picture(1, 2, {0, 0});
  EXPECT_EQ(augment_image(black, {}, Centre::middle, Contrast::stretch), black);
}

using Matrix = std::array<std::array<double, 3>, 3>;

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) c.at(i).at(j) += a.at(i).at(k) * b.at(k).at(j);
    }
  }
  return c;
}

TEST(AugmentImage, TakesColourAwayAndTurnsIt) {
  Image image(1, 2, 3);
  const std::array<std::uint8_t, 6> colours{255, 0, 0, 90, 90, 90};  // red, grey
  std::ranges::copy(colours, image.data());
  const auto bytes = [](const Image& of) {
    const auto pixels = of.pixels();
    return std::vector<int>(pixels.begin(), pixels.end());
  };
  EXPECT_EQ(bytes(augment_image(image, {.saturation = 0})),
            (std::vector<int>{54, 54, 54, 90, 90, 90}));  // 0.213 x 255
  // Half a turn: twice the luma minus the colour, clamped.
  EXPECT_EQ(bytes(augment_image(image, {.hue_degrees = 180})),
            (std::vector<int>{0, 109, 109, 90, 90, 90}));
  EXPECT_EQ(image.data()[0], 255) << "the caller's picture was changed";
}

TEST(AugmentImage, GreyIsNoSaturationWhateverSaturationAndHueAre) {
  const Image image = test::smooth_picture(20, 30);
  const Image expected = augment_image(image, {.saturation = 0});
  EXPECT_EQ(augment_image(image, {.grey = true}), expected);
  EXPECT_EQ(augment_image(image, {.saturation = 1.4, .hue_degrees = 120, .grey = true}), expected);
  EXPECT_EQ(image, test::smooth_picture(20, 30)) << "the caller's picture was changed";
  const Augmentation turned{.rotation_degrees = 12, .brightness = 1.2};
  Augmentation turned_and_grey = turned;
  turned_and_grey.grey = true;
  EXPECT_EQ(augment_image(image, turned_and_grey),
            augment_image(augment_image(image, turned), {.grey = true}));
}

TEST(AugmentImage, ColourMatricesKeepLumaAndCompose) {
  const Matrix same{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const auto matrix = [](double saturation, double hue) {
    const std::array<double, 9> m = colour_matrix(saturation, hue);
    return Matrix{{{m[0], m[1], m[2]}, {m[3], m[4], m[5]}, {m[6], m[7], m[8]}}};
  };
  const auto expect_near = [](const Matrix& a, const Matrix& b) {
    for (std::size_t i = 0; i < 9; ++i)
      EXPECT_NEAR(a.at(i / 3).at(i % 3), b.at(i / 3).at(i % 3), 2e-3);
  };
  expect_near(matrix(1, 0), same);
  expect_near(matrix(1, 50) * matrix(1, -50), same);
  expect_near(matrix(0.5, 20) * matrix(0.6, 30), matrix(0.3, 50));
  const Matrix turned = matrix(1.3, 77);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::array<double, 3> luma{0.213, 0.715, 0.072};
    EXPECT_NEAR(luma[0] * turned[0].at(c) + luma[1] * turned[1].at(c) + luma[2] * turned[2].at(c),
                luma.at(c), 1e-3);
  }
}

TEST(AugmentImage, TurnsAroundTheCentreThatIsAskedFor) {
  // Keras-Preprocessing 1.1.0 turns 3 x 3 pixels about (2, 2): (r, c) is looked up at (4 - c, r),
  // and the first two columns are then below the image.
  const Image turned =
      augment_image(test::grey_picture(3, 3, nine), {.rotation_degrees = 90}, Centre::keras_1_1_0);
  EXPECT_EQ(greys(turned), (std::vector<int>{70, 70, 70, 80, 80, 80, 90, 90, 90}));
  const SourceMap map = source_map({.rotation_degrees = 90}, 3, 3, Centre::keras_1_1_0);
  EXPECT_NEAR(map.row_by_column, -1, 1e-12);
  EXPECT_NEAR(map.row, 4, 1e-12);
  EXPECT_NEAR(map.column_by_row, 1, 1e-12);
  EXPECT_NEAR(map.column, 0, 1e-12);
}

TEST(AugmentImage, ComposesItsMapAsTheMatrixProductSays) {
  const Augmentation a{.rotation_degrees = 23,
                       .shift_rows = 0.13,
                       .shift_columns = -0.07,
                       .shear_degrees = 11,
                       .zoom_rows = 0.93,
                       .zoom_columns = 1.08};
  const int height = 120;
  const int width = 80;
  const double r = a.rotation_degrees * std::numbers::pi / 180;
  const double s = a.shear_degrees * std::numbers::pi / 180;
  const double o_row = (height - 1) / 2.0;
  const double o_column = (width - 1) / 2.0;
  const Matrix offset{{{1, 0, o_row}, {0, 1, o_column}, {0, 0, 1}}};
  const Matrix reset{{{1, 0, -o_row}, {0, 1, -o_column}, {0, 0, 1}}};
  const Matrix rotation{{{std::cos(r), -std::sin(r), 0}, {std::sin(r), std::cos(r), 0}, {0, 0, 1}}};
  const Matrix shift{{{1, 0, a.shift_rows * height}, {0, 1, a.shift_columns * width}, {0, 0, 1}}};
  const Matrix shear{{{1, -std::sin(s), 0}, {0, std::cos(s), 0}, {0, 0, 1}}};
  const Matrix zoom{{{a.zoom_rows, 0, 0}, {0, a.zoom_columns, 0}, {0, 0, 1}}};
  const Matrix whole = offset * rotation * shift * shear * zoom * reset;
  const SourceMap map = source_map(a, height, width, Centre::middle);
  EXPECT_NEAR(map.row_by_row, whole[0][0], 1e-12);
  EXPECT_NEAR(map.row_by_column, whole[0][1], 1e-12);
  EXPECT_NEAR(map.row, whole[0][2], 1e-9);
  EXPECT_NEAR(map.column_by_row, whole[1][0], 1e-12);
  EXPECT_NEAR(map.column_by_column, whole[1][1], 1e-12);
  EXPECT_NEAR(map.column, whole[1][2], 1e-9);

  Augmentation mirrored = a;
  mirrored.flip = true;
  const SourceMap flipped = source_map(mirrored, height, width, Centre::middle);
  for (const double column : {0.0, 13.0, 79.0}) {
    EXPECT_NEAR(flipped.row_by_column * column + flipped.row,
                map.row_by_column * (width - 1 - column) + map.row, 1e-9);
    EXPECT_NEAR(flipped.column_by_column * column + flipped.column,
                map.column_by_column * (width - 1 - column) + map.column, 1e-9);
  }
}

TEST(DrawAugmentation, StaysInItsRangesAndReachesThem) {
  const AugmentationRanges ranges{.rotation_degrees = 30,
                                  .shift = 0.2,
                                  .shear_degrees = 5,
                                  .zoom_least = 0.9,
                                  .zoom_most = 1.1,
                                  .flip_probability = 0.5,
                                  .brightness_least = 0.5,
                                  .brightness_most = 1.5};
  const int draws = 2000;
  int mirrored = 0;
  double steepest = 0;
  double farthest = 0;
  double zoom_difference = 0;
  for (int i = 0; i < draws; ++i) {
    Random random(1, 2, 3, static_cast<std::uint64_t>(i));
    const Augmentation a = draw_augmentation(ranges, random);
    EXPECT_LE(std::abs(a.rotation_degrees), 30);
    EXPECT_LE(std::abs(a.shift_rows), 0.2);
    EXPECT_LE(std::abs(a.shift_columns), 0.2);
    EXPECT_LE(std::abs(a.shear_degrees), 5);
    EXPECT_GE(std::min(a.zoom_rows, a.zoom_columns), 0.9);
    EXPECT_LE(std::max(a.zoom_rows, a.zoom_columns), 1.1);
    EXPECT_GE(a.brightness, 0.5);
    EXPECT_LE(a.brightness, 1.5);
    mirrored += a.flip ? 1 : 0;
    steepest = std::max(steepest, std::abs(a.rotation_degrees));
    farthest = std::max(farthest, std::abs(a.shift_rows));
    zoom_difference = std::max(zoom_difference, std::abs(a.zoom_rows - a.zoom_columns));
  }
  EXPECT_NEAR(mirrored, draws / 2.0, 5 * std::sqrt(draws / 4.0));
  EXPECT_GT(steepest, 29);
  EXPECT_GT(farthest, 0.19);
  EXPECT_GT(zoom_difference, 0.15);
}

TEST(DrawAugmentation, GreyComesAsOftenAsAskedAndLeavesTheOthers) {
  const int draws = 4000;
  int grey = 0;
  for (int i = 0; i < draws; ++i) {
    const auto drawn = [i](double probability) {
      Random random(1, 2, 3, static_cast<std::uint64_t>(i));
      return draw_augmentation({.hue_degrees = 20, .grey_probability = probability}, random);
    };
    const Augmentation never = drawn(0);
    const Augmentation sometimes = drawn(0.2);
    EXPECT_FALSE(never.grey);
    EXPECT_TRUE(drawn(1).grey);
    EXPECT_EQ(sometimes.rotation_degrees, never.rotation_degrees);
    EXPECT_EQ(sometimes.hue_degrees, never.hue_degrees);
    grey += sometimes.grey ? 1 : 0;
  }
  EXPECT_NEAR(grey, draws * 0.2, 5 * std::sqrt(draws * 0.2 * 0.8));
}

TEST(DrawAugmentation, SwitchingOneThingOffLeavesTheOthers) {
  Random a(1, 2, 3, 4);
  Random b(1, 2, 3, 4);
  const Augmentation whole = draw_augmentation({}, a);
  const Augmentation still = draw_augmentation({.rotation_degrees = 0}, b);
  EXPECT_EQ(still.rotation_degrees, 0);
  EXPECT_EQ(still.brightness, whole.brightness);
  EXPECT_EQ(still.flip, whole.flip);
}

}  // namespace seam::stages::augment_image_test
