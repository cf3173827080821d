#include "stages/image/move_landmarks.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "stages/image/augment.hpp"
#include "stages/image/crop.hpp"
#include "stages/image/resize.hpp"
#include "tests/stages/image/image_stages.hpp"

namespace seam::stages::move_landmarks_test {

using seam::testing::Harness;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

using Place = std::array<float, 2>;

Image black(int height, int width) {
  return test::filled(height, width, 0);
}

/// A round spot that fades, in one channel.
void draw_spot(Image& image, const Place& at, int channel) {
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      const double distance = std::hypot(static_cast<double>(x) - static_cast<double>(at[0]),
                                         static_cast<double>(y) - static_cast<double>(at[1]));
      image.row(y)[3 * x + channel] = static_cast<std::uint8_t>(255 * std::exp(-distance / 3));
    }
  }
}

/// The centre of the bright area, or nullopt if that is too small.
std::optional<Place> found_spot(const Image& image, int channel) {
  double sum = 0;
  double sum_x = 0;
  double sum_y = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      const int value = image.row(y)[3 * x + channel];
      if (value < 100) continue;
      sum += value;
      sum_x += value * x;
      sum_y += value * y;
    }
  }
  if (sum < 255) return std::nullopt;
  return Place{static_cast<float>(sum_x / sum), static_cast<float>(sum_y / sum)};
}

/// Left collar red, right collar green, left hem blue; the other landmarks are none.
Packet marked_picture(int height, int width, const std::array<Place, 3>& places) {
  Packet packet;
  Image image = black(height, width);
  LandmarkPositions positions{};
  LandmarkVisibility states{};
  states.fill(3);
  constexpr std::array<std::size_t, 3> numbers{0, 1, 6};
  for (std::size_t i = 0; i < places.size(); ++i) {
    draw_spot(image, places.at(i), static_cast<int>(i));
    positions.at(numbers.at(i)) = places.at(i);
    states.at(numbers.at(i)) = static_cast<std::int64_t>(i % 2);  // the second one is occluded
  }
  packet.set(field::image, image);
  packet.set(field::landmarks, positions);
  packet.set(field::visibility, states);
  return packet;
}

constexpr std::array<Place, 3> usual{Place{30, 25}, Place{50, 28}, Place{34, 60}};

void expect_at(const Packet& packet, std::size_t landmark, const std::optional<Place>& spot,
               std::int64_t state) {
  ASSERT_TRUE(spot.has_value());
  EXPECT_EQ(packet.get(field::visibility).at(landmark), state) << landmark;
  const Place& place = packet.get(field::landmarks).at(landmark);
  EXPECT_NEAR(place[0], (*spot)[0], 0.7) << landmark;
  EXPECT_NEAR(place[1], (*spot)[1], 0.7) << landmark;
}

/// Expects the spots of eight such pictures to be at the landmarks 0, 1 and 6.
void expect_spots_at_landmarks(Harness& harness, const std::array<Place, 3>& places) {
  harness.push_all(std::vector<Packet>(8, marked_picture(96, 80, places)));
  ASSERT_EQ(harness.outputs().size(), 8U);
  for (const Packet& packet : harness.outputs()) {
    const Image& image = packet.get(field::image);
    expect_at(packet, 0, found_spot(image, 0), 0);
    expect_at(packet, 1, found_spot(image, 1), 1);
    expect_at(packet, 6, found_spot(image, 2), 0);
    EXPECT_EQ(packet.get(field::visibility)[7], 3);
  }
}

TEST(MoveLandmarks, ASpotIsResizedToWhereItsLandmarkIs) {
  for (const auto& [height, width] : {std::pair{48, 160}, {192, 40}, {96, 80}}) {
    Harness harness("resize", std::make_unique<Resize>());
    harness.set("height", height).set("width", width).set("interpolation", "area");
    expect_spots_at_landmarks(harness, usual);
  }
}

TEST(MoveLandmarks, HalfThePixelsHaveTheirMiddlesBetweenTwo) {
  Packet packet = marked_picture(64, 64, {Place{0.5, 0.5}, Place{63, 63}, Place{31.5, 31.5}});
  const Image half = black(32, 32);
  const Image before = packet.get(field::image);
  move_landmarks(packet, before, half, resizing_map(before, half));
  EXPECT_THAT(packet.get(field::landmarks)[0], ElementsAre(0, 0));
  EXPECT_THAT(packet.get(field::landmarks)[1], Each(FloatNear(31.25F, 1e-5F)));
  EXPECT_THAT(packet.get(field::landmarks)[6], Each(FloatNear(15.5F, 1e-5F)));
}

TEST(MoveLandmarks, ASpotIsCroppedToWhereItsLandmarkIs) {
  Harness harness("crop", std::make_unique<Crop>());
  harness.set("height", 70).set("width", 60).set("position", "random");
  // Wherever it cuts, these stay.
  expect_spots_at_landmarks(harness, {Place{28, 32}, Place{50, 36}, Place{32, 60}});
  Harness resized("crop", std::make_unique<Crop>());
  resized.set("height", 80).set("width", 120).set("position", "random_resized");
  resized.set("area_least", 0.8);
  expect_spots_at_landmarks(resized, {Place{32, 36}, Place{48, 40}, Place{36, 58}});
}

TEST(MoveLandmarks, WhatLiesBesideAPartIsCutOffBeforeThePartIsMadeSmaller) {
  Harness harness("crop", std::make_unique<Crop>());
  harness.set("height", 4).set("width", 4).set("position", "random_resized");
  harness.set("area_least", 1.0);  // nothing fits: the middle, columns 86 to 112
  const std::array<Place, 3> places{Place{83, 10}, Place{85, 10}, Place{99, 10}};
  harness.push(marked_picture(20, 200, places));
  const Packet& packet = harness.outputs().at(0);
  // Column 83 would be less than a pixel, 6.75 of the picture's, beside the small part.
  EXPECT_THAT(packet.get(field::visibility), ElementsAre(2, 1, 3, 3, 3, 3, 0, 3));
  EXPECT_THAT(packet.get(field::landmarks)[6],
              ElementsAre(FloatNear(13.5F / 6.75F - 0.5F, 1e-5F), FloatNear(1.6F, 1e-5F)));
}

TEST(MoveLandmarks, WhatACropLeavesOutIsCutOff) {
  Harness harness("crop", std::make_unique<Crop>());
  harness.set("height", 40).set("width", 40);  // rows 28 to 67, columns 20 to 59
  harness.push(marked_picture(96, 80, {Place{30, 10}, Place{50, 40}, Place{70, 60}}));
  const Packet& packet = harness.outputs().at(0);
  EXPECT_THAT(packet.get(field::visibility), ElementsAre(2, 1, 3, 3, 3, 3, 2, 3));
  EXPECT_THAT(packet.get(field::landmarks)[0], ElementsAre(0, 0));
  EXPECT_THAT(packet.get(field::landmarks)[1], ElementsAre(30, 12));
}

/// Positive if a to b to c turns one way, negative if it turns the other way.
float turn(const Place& a, const Place& b, const Place& c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

TEST(MoveLandmarks, SpotsAreAugmentedToWhereTheirLandmarksAre) {
  Harness harness("augment", std::make_unique<Augment>());
  harness.set("shift", 0.1).set("shear_degrees", 20.0);
  harness.set("brightness_least", 1.0).set("brightness_most", 1.0);
  harness.push_all(std::vector<Packet>(40, marked_picture(96, 80, usual)), 1);
  int mirrored = 0;
  ASSERT_EQ(harness.outputs().size(), 40U);
  for (const Packet& packet : harness.outputs()) {
    const Image& image = packet.get(field::image);
    const auto red = found_spot(image, 0);
    const auto green = found_spot(image, 1);
    const auto blue = found_spot(image, 2);
    ASSERT_TRUE(red && green && blue);
    const bool turned = turn(usual[0], usual[1], usual[2]) * turn(*red, *green, *blue) < 0;
    mirrored += turned ? 1 : 0;
    // In a mirrored image the left collar becomes the right one, with its state.
    expect_at(packet, turned ? 1 : 0, red, 0);
    expect_at(packet, turned ? 0 : 1, green, 1);
    expect_at(packet, turned ? 7 : 6, blue, 0);
    EXPECT_EQ(packet.get(field::visibility)[turned ? 6 : 7], 3);
  }
  EXPECT_GT(mirrored, 5);
  EXPECT_LT(mirrored, 35);
}

/// Finds the pixel whose lookup is nearest to the position: the inverse of the map, the slow way.
std::optional<Place> slowly_moved(const Place& place, const SourceMap& map, int height, int width) {
  double nearest = std::numeric_limits<double>::infinity();
  Place best{};
  constexpr int parts = 4;  // of a pixel
  for (int i = -parts; i <= height * parts; ++i) {
    for (int j = -parts; j <= width * parts; ++j) {
      const double row = static_cast<double>(i) / parts;
      const double column = static_cast<double>(j) / parts;
      const double distance = std::hypot(map.row_by_row * row + map.row_by_column * column +
                                             map.row - static_cast<double>(place[1]),
                                         map.column_by_row * row + map.column_by_column * column +
                                             map.column - static_cast<double>(place[0]));
      if (distance >= nearest) continue;
      nearest = distance;
      best = {static_cast<float>(column), static_cast<float>(row)};
    }
  }
  if (nearest > 0.5) return std::nullopt;
  return best;
}

TEST(MoveLandmarks, AnyMapIsInvertedAsASearchFindsIt) {
  Random random(1, 2);
  const AugmentationRanges wide{.rotation_degrees = 180, .shift = 0.6, .shear_degrees = 40};
  const Image image = black(24, 20);
  int left = 0;
  for (int draw = 0; draw < 60; ++draw) {
    const Augmentation augmentation = draw_augmentation(wide, random);
    const SourceMap map = source_map(augmentation, 24, 20, Centre::middle);
    const Place place{static_cast<float>(random.uniform(0, 19)),
                      static_cast<float>(random.uniform(0, 23))};
    Packet packet = marked_picture(24, 20, {place, Place{1, 1}, Place{2, 2}});
    move_landmarks(packet, image, image, map);  // the flip is in the map; names stay
    const std::optional<Place> expected = slowly_moved(place, map, 24, 20);
    const std::int64_t state = packet.get(field::visibility)[0];
    if (!expected) {
      ++left;
      EXPECT_EQ(state, 2) << draw;
      continue;
    }
    const Place& found = packet.get(field::landmarks)[0];
    const bool at_the_edge =
        (*expected)[0] <= 0 || (*expected)[0] >= 19 || (*expected)[1] <= 0 || (*expected)[1] >= 23;
    if (at_the_edge && state == 2) continue;
    ASSERT_EQ(state, 0) << draw;
    EXPECT_NEAR(found[0], (*expected)[0], 0.3) << draw;
    EXPECT_NEAR(found[1], (*expected)[1], 0.3) << draw;
  }
  EXPECT_GT(left, 5);
}

std::string error_of_resize(const Packet& packet, Fault fault = Fault::data) {
  return test::fault_of<Resize>(packet, {}, fault);
}

TEST(MoveLandmarks, LandmarksOfAnotherPictureAreRefused) {
  Packet packet = marked_picture(96, 80, usual);
  LandmarkPositions positions = packet.get(field::landmarks);
  positions[1] = {80, 96};  // lists that count from 1 name the last pixel so
  packet.set(field::landmarks, positions);
  EXPECT_EQ(error_of_resize(packet), "no error");
  for (const Place& place : {Place{81, 5}, Place{-1.5, 5}, Place{5, 97}, Place{5, NAN}}) {
    positions[1] = place;
    packet.set(field::landmarks, positions);
    EXPECT_THAT(error_of_resize(packet), HasSubstr("landmark 2 (right collar) is at x "));
  }
  LandmarkVisibility states = packet.get(field::visibility);
  states[1] = 2;
  packet.set(field::visibility, states);
  EXPECT_EQ(error_of_resize(packet), "no error") << "cut off, so without a position";
  states[1] = 4;
  packet.set(field::visibility, states);
  EXPECT_THAT(error_of_resize(packet), HasSubstr("has visibility 4"));
}

TEST(MoveLandmarks, BothFieldsBelongTogether) {
  Packet packet = marked_picture(96, 80, usual);
  packet.erase(field::visibility.name);
  EXPECT_THAT(error_of_resize(packet, Fault::internal),
              HasSubstr("'landmarks' without 'visibility'"));
  Packet other = marked_picture(96, 80, usual);
  other.erase(field::landmarks.name);
  EXPECT_THAT(error_of_resize(other, Fault::internal),
              HasSubstr("'visibility' without 'landmarks'"));
}

}  // namespace seam::stages::move_landmarks_test
