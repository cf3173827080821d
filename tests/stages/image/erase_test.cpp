#include "stages/image/erase.hpp"

#include <algorithm>
#include <cmath>

#include <seam/conformance.hpp>

#include "tests/stages/image/image_stages.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::erase_test {

using seam::testing::Harness;
using test::packet_with;
using test::Settings;

const auto conformance =
    testing::conformance<Erase>({.refused = {{{"probability", 1.5}},
                                             {{"area_least", 0.0}},
                                             {{"area_least", 0.4}},
                                             {{"aspect_most", 0.2}},
                                             {{"value", std::vector<std::int64_t>{256}}},
                                             {{"value", std::vector<std::int64_t>{}}},
                                             {{"fill", std::string("mean")}}}});

const auto noise_conformance =
    testing::conformance<Erase>({.name = "noise",
                                 .parameters = {{"fill", std::string("random")}},
                                 .refused = {{{"value", std::vector<std::int64_t>{0}}}}});

std::unique_ptr<Harness> erase(const Settings& settings) {
  return test::stage_with<Erase>(settings);
}

const Value noise = std::string("random");

TEST(Erase, DrawsAnewForEveryPictureEpochAndSeed) {
  test::expect_draws_anew<Erase>({{"fill", noise}, {"probability", 1.0}});
}

TEST(Erase, ErasesAsOftenAsTheProbabilitySays) {
  const auto changed = [](double probability) {
    const Image original = test::smooth_picture(40, 30);
    const std::vector<Image> images =
        test::changed<Erase>({{"probability", probability}}, {.pictures = 2000});
    return std::ranges::count_if(images, [&](const Image& image) { return image != original; });
  };
  EXPECT_EQ(changed(0), 0);
  EXPECT_EQ(changed(1), 2000);
  EXPECT_NEAR(static_cast<double>(changed(0.3)), 600, 5 * std::sqrt(2000 * 0.3 * 0.7));
}

TEST(Erase, PaintsWhatIsDrawn) {
  const Image image = test::smooth_picture(40, 30);
  const std::vector<Image> black = test::changed<Erase>({{"probability", 1.0}});
  const std::vector<Image> coloured =
      test::changed<Erase>({{"probability", 1.0}, {"value", std::vector<std::int64_t>{9, 8, 7}}});
  const std::vector<Image> noisy = test::changed<Erase>({{"probability", 1.0}, {"fill", noise}});
  ASSERT_EQ(black.size(), 24U);
  for (std::uint64_t i = 0; i < black.size(); ++i) {
    Random random(1, stream_of("erase"), 0, i);
    EXPECT_TRUE(random.coin(1));
    const auto region = random_erased_region(image, {0.02, 0.33, 0.3, 3.3}, random);
    ASSERT_TRUE(region.has_value());
    EXPECT_EQ(black[i], erase_region(image, *region, std::vector<std::uint8_t>{0}));
    EXPECT_EQ(coloured[i], erase_region(image, *region, std::vector<std::uint8_t>{9, 8, 7}));
    EXPECT_EQ(noisy[i], erase_with_noise(image, *region, random));
  }
}

TEST(Erase, PassesThePictureOnWhereNothingFits) {
  const Image image = test::smooth_picture(40, 30);
  const auto harness = erase({{"probability", 1.0}, {"area_least", 1.0}, {"area_most", 1.0}});
  harness->push(packet_with(image));
  ASSERT_EQ(harness->outputs().size(), 1U);
  EXPECT_EQ(harness->outputs()[0].get(field::image).data(), image.data());
}

TEST(Erase, TakesPicturesOfOneChannel) {
  const auto harness = erase({{"probability", 1.0}, {"value", std::vector<std::int64_t>{200}}});
  harness->push(packet_with(test::filled(20, 20, 50, 1)));
  ASSERT_EQ(harness->outputs().size(), 1U);
  const Image& image = harness->outputs()[0].get(field::image);
  EXPECT_GT(std::ranges::count(image.pixels(), 200), 0);
  EXPECT_EQ(std::ranges::count(image.pixels(), 200) + std::ranges::count(image.pixels(), 50), 400);
}

TEST(Erase, RefusesOtherPicturesWhateverIsDrawn) {
  const Settings never{{"probability", 0.0}};
  EXPECT_THAT(test::fault_of<Erase>(packet_with(Image(20, 20, 4)), never), HasSubstr("4 channels"));
  Settings colour = never;
  colour["value"] = std::vector<std::int64_t>{1, 2, 3};
  EXPECT_THAT(test::fault_of<Erase>(packet_with(Image(20, 20, 1)), colour), HasSubstr("1 channel"));
}

TEST(Erase, RefusesWhatHasNoEffectOrNoMeaning) {
  const auto expect_refused = [](const Settings& settings, const char* text) {
    EXPECT_REFUSED(erase(settings)->open(), Fault::configuration, text);
  };
  expect_refused({{"fill", noise}, {"value", std::vector<std::int64_t>{0}}},
                 "has no effect with fill = \"random\"");
  expect_refused({{"value", std::vector<std::int64_t>{1, 2}}}, "`value` has 2 numbers");
  expect_refused({{"area_least", 0.5}}, "area_least is 0.5");
  expect_refused({{"aspect_least", 4.0}}, "aspect_most is 3.3");
}

}  // namespace seam::stages::erase_test
