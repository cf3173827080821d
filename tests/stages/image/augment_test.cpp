#include "stages/image/augment.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <seam/conformance.hpp>

#include "tests/stages/image/image_stages.hpp"

namespace seam::stages::augment_test {

using test::Settings;

std::vector<Image> augmented(const Settings& settings) {
  return test::changed<Augment>(settings);
}

Settings nothing() {
  return {{"rotation_degrees", 0.0}, {"shift", 0.0},          {"shear_degrees", 0.0},
          {"zoom_least", 1.0},       {"zoom_most", 1.0},      {"flip_probability", 0.0},
          {"brightness_least", 1.0}, {"brightness_most", 1.0}};
}

std::uint8_t largest(const Image& image) {
  return *std::ranges::max_element(image.pixels());
}

const auto conformance =
    testing::conformance<Augment>({.refused = {{{"zoom_least", 2.0}, {"zoom_most", 1.0}},
                                               {{"brightness_least", 2.0}},
                                               {{"saturation_least", 2.0}}}});

TEST(Augment, DrawsAnewForEveryPictureEpochAndSeed) {
  test::expect_draws_anew<Augment>({});
}

TEST(Augment, ChangesWhatItIsToldOnly) {
  Settings settings = nothing();
  settings["flip_probability"] = 1.0;
  const Image flipped = augment_image(test::smooth_picture(40, 30), {.flip = true});
  for (const Image& image : augmented(settings)) EXPECT_EQ(image, flipped);
  for (const Image& image : augmented(nothing())) EXPECT_EQ(image, test::smooth_picture(40, 30));
}

TEST(Augment, StretchesInTheReleasedPresetAlone) {
  for (const auto& [preset, stretches] :
       {std::pair{"corrected", false}, {"as_published", false}, {"as_released", true}}) {
    Settings settings = nothing();
    settings["preset"] = std::string(preset);
    const Image image = augmented(settings).front();
    EXPECT_EQ(largest(image) == 255, stretches) << preset;
  }
}

TEST(Augment, APresetsPartCanBeReplaced) {
  Settings settings = nothing();
  settings["preset"] = std::string("as_released");
  settings["stretch"] = false;
  EXPECT_EQ(augmented(settings).front(), test::smooth_picture(40, 30));
}

TEST(Augment, ShiftsFurtherInTheReleasedPresetThanInThePublishedOne) {
  // With the shift alone left open, equal draws move twice as far.
  Settings open = nothing();
  open.erase("shift");
  Settings published = open;
  published["preset"] = std::string("as_published");
  Settings half = nothing();
  half["shift"] = 0.1;
  EXPECT_EQ(augmented(published), augmented(half));
  EXPECT_NE(augmented(published), augmented(open));
}

TEST(Augment, TurnsAroundTheCentreOfThePreset) {
  const Settings corrected{{"preset", std::string("corrected")}};
  const Settings released{{"preset", std::string("as_released")}, {"stretch", false}};
  EXPECT_NE(augmented(corrected), augmented(released));
}

TEST(Augment, ColoursChangeOnlyWhereAsked) {
  Settings settings = nothing();
  settings["saturation_least"] = 0.0;
  settings["saturation_most"] = 0.0;
  const Image grey = augmented(settings).front();
  for (std::size_t i = 0; i < grey.bytes(); i += 3) EXPECT_EQ(grey.data()[i], grey.data()[i + 2]);
  settings = nothing();
  settings["hue_degrees"] = 180.0;
  const std::vector<Image> turned = augmented(settings);
  EXPECT_NE(turned[0], test::smooth_picture(40, 30));
  EXPECT_NE(turned[0], turned[1]);
}

bool is_grey(const Image& image) {
  for (std::size_t i = 0; i < image.bytes(); i += 3) {
    if (image.data()[i] != image.data()[i + 1] || image.data()[i] != image.data()[i + 2])
      return false;
  }
  return true;
}

TEST(Augment, SomePicturesBecomeGreyAndTheOthersStayAsTheyWere) {
  const std::vector<Image> coloured = augmented({{"hue_degrees", 30.0}});
  EXPECT_TRUE(std::ranges::none_of(coloured, is_grey));
  const std::vector<Image> all = augmented({{"hue_degrees", 30.0}, {"grey_probability", 1.0}});
  EXPECT_TRUE(std::ranges::all_of(all, is_grey));
  const Settings settings{{"hue_degrees", 30.0}, {"grey_probability", 0.5}};
  const std::vector<Image> some = augmented(settings);
  const auto grey = std::ranges::count_if(some, is_grey);
  EXPECT_GT(grey, 0);
  EXPECT_LT(grey, 24);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i], is_grey(some[i]) ? all[i] : coloured[i]);
  }
}

}  // namespace seam::stages::augment_test
