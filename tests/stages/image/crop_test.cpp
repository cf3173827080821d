#include "stages/image/crop.hpp"

#include <algorithm>

#include <seam/box.hpp>
#include <seam/conformance.hpp>

#include "stages/image/augment.hpp"
#include "stages/image/decode.hpp"
#include "stages/image/erase.hpp"
#include "stages/image/resize.hpp"
#include "tests/stages/image/image_stages.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::crop_test {

using seam::testing::Harness;
using test::packet_with;
using test::Settings;

std::vector<Packet> boxed_pictures() {
  std::vector<Packet> packets;
  for (int i = 0; i < 6; ++i) {
    packets.push_back(packet_with(test::smooth_picture(12, 16)));
    packets.back().set(field::box, {static_cast<float>(i), 1, 14, 11});
  }
  return packets;
}

const auto conformance = testing::conformance<Crop>(
    {.parameters = {{"height", std::int64_t{8}}, {"width", std::int64_t{9}}},
     .refused = {{{"height", std::int64_t{0}}}, {{"position", std::string("left")}}}});

const auto random_conformance =
    testing::conformance<Crop>({.name = "random",
                                .parameters = {{"height", std::int64_t{8}},
                                               {"width", std::int64_t{9}},
                                               {"position", std::string("random")}}});

const auto box_conformance =
    testing::conformance<Crop>({.name = "box",
                                .parameters = {{"box", true}},
                                .packets = [](Harness&) { return boxed_pictures(); },
                                .refused = {{{"position", std::string("random")}}}});

const auto resized_conformance =
    testing::conformance<Crop>({.name = "resized",
                                .parameters = {{"height", std::int64_t{8}},
                                               {"width", std::int64_t{9}},
                                               {"position", std::string("random_resized")}},
                                .refused = {{{"area_least", 0.0}},
                                            {{"area_most", 1.5}},
                                            {{"area_least", 0.5}, {"area_most", 0.4}},
                                            {{"aspect_least", 2.0}},
                                            {{"interpolation", std::string("cubic")}}}});

std::unique_ptr<Harness> crop(const Settings& settings) {
  return test::stage_with<Crop>(settings);
}

Settings of_size(std::int64_t height, std::int64_t width, const std::string& position) {
  return {{"height", height}, {"width", width}, {"position", position}};
}

TEST(Crop, KeepsTheMiddle) {
  const Image image = test::smooth_picture(40, 30);
  const auto harness = crop({{"height", std::int64_t{8}}, {"width", std::int64_t{9}}});
  harness->push(packet_with(image));
  ASSERT_EQ(harness->outputs().size(), 1U);
  EXPECT_EQ(harness->outputs()[0].get(field::image),
            crop_image(image, {.top = 16, .left = 10, .height = 8, .width = 9}));
  EXPECT_EQ(image, test::smooth_picture(40, 30)) << "the caller's picture was changed";
}

TEST(Crop, PassesPicturesOfItsSizeOnUntouched) {
  const Image image = test::smooth_picture(8, 9);
  for (const char* const position : {"centre", "random"}) {
    const auto harness = crop(of_size(8, 9, position));
    harness->push(packet_with(image));
    ASSERT_EQ(harness->outputs().size(), 1U);
    EXPECT_EQ(harness->outputs()[0].get(field::image).data(), image.data());
  }
}

TEST(Crop, DrawsAnewForEveryPictureEpochAndSeed) {
  test::expect_draws_anew<Crop>(of_size(8, 9, "random"));
  test::expect_draws_anew<Crop>(of_size(8, 9, "random_resized"));
}

TEST(Crop, ResizesWhatRandomResizedDraws) {
  Settings settings = of_size(20, 24, "random_resized");
  settings["area_least"] = 0.3;
  settings["area_most"] = 0.5;
  settings["aspect_least"] = 1.5;
  settings["aspect_most"] = 2.0;
  settings["interpolation"] = std::string("area");
  const auto harness = crop(settings);
  const Image image = test::smooth_picture(70, 90);
  harness->seed(1).push_all(std::vector<Packet>(10, packet_with(image)));
  ASSERT_EQ(harness->outputs().size(), 10U);
  for (std::uint64_t i = 0; i < 10; ++i) {
    Random random(1, stream_of("crop"), 0, i);
    const Region region = random_resized_region(image, {0.3, 0.5, 1.5, 2.0}, random);
    EXPECT_EQ(harness->outputs()[i].get(field::image),
              resize_image(crop_image(image, region), 20, 24, Interpolation::area));
  }
}

TEST(Crop, EnlargesWhereRandomResizedKeepsLess) {
  const auto harness = crop(of_size(50, 40, "random_resized"));
  harness->push_all(std::vector<Packet>(5, packet_with(test::smooth_picture(12, 16))));
  ASSERT_EQ(harness->outputs().size(), 5U);
  for (const Packet& packet : harness->outputs()) {
    EXPECT_EQ(packet.get(field::image).height(), 50);
    EXPECT_EQ(packet.get(field::image).width(), 40);
  }
}

/// Expects this region of the third of the boxed pictures.
void expect_of_third_box(const Settings& settings, const Region& region) {
  const auto harness = crop(settings);
  harness->push_all(boxed_pictures());
  ASSERT_EQ(harness->outputs().size(), 6U);
  EXPECT_EQ(harness->outputs()[2].get(field::image),
            crop_image(test::smooth_picture(12, 16), region));
}

TEST(Crop, DrawsWithinTheBoxWhereToldSo) {
  Settings settings = of_size(10, 12, "random_resized");
  settings["box"] = true;
  settings["area_least"] = 1.0;
  settings["aspect_least"] = 1.2;
  settings["aspect_most"] = 1.2;
  // The box is 12 wide and 10 high, so that the whole of it is kept.
  expect_of_third_box(settings, {.top = 1, .left = 2, .height = 10, .width = 12});
}

TEST(Crop, CutsTheBoxOutBeforeItCrops) {
  expect_of_third_box({{"box", true}}, {.top = 1, .left = 2, .height = 10, .width = 12});
  Settings settings = of_size(4, 6, "centre");
  settings["box"] = true;
  expect_of_third_box(settings, {.top = 4, .left = 5, .height = 4, .width = 6});
}

/// The values declared for the field `image`.
std::vector<std::string> values_of_image(const std::vector<FieldInfo>& fields) {
  return std::ranges::find(fields, std::string("image"), &FieldInfo::name)->values;
}

template <class S>
std::vector<std::string> provided_image(const Settings& settings = {}) {
  return values_of_image(test::stage_with<S>(settings)->runner().description().provides);
}

TEST(Crop, NeedsAnUnchangedImageForABox) {
  const auto needs_of = [](const Settings& settings) {
    return crop(settings)->runner().description().needs;
  };
  const auto has_box = [](const std::vector<FieldInfo>& needs) {
    return std::ranges::any_of(needs, [](const FieldInfo& field) { return field.name == "box"; });
  };
  EXPECT_TRUE(has_box(needs_of({{"box", true}})));
  EXPECT_FALSE(has_box(needs_of(of_size(8, 9, "centre"))));
  const std::vector<std::string> needed = values_of_image(needs_of({{"box", true}}));
  EXPECT_THAT(needed, ElementsAre("as decoded"));
  EXPECT_EQ(provided_image<Decode>(), needed);
  const auto changed = ElementsAre("changed");
  EXPECT_THAT(provided_image<Crop>(of_size(8, 9, "centre")), changed);
  EXPECT_THAT(provided_image<Resize>(), changed);
  EXPECT_THAT(provided_image<Augment>(), changed);
  EXPECT_THAT(provided_image<Erase>(), changed);
  EXPECT_THAT(values_of_image(needs_of(of_size(8, 9, "centre"))), ::testing::IsEmpty());
}

TEST(Crop, RefusesABoxThatIsMissingOrBeyondThePicture) {
  const Packet missing = packet_with(test::smooth_picture(12, 16));
  EXPECT_THAT(test::fault_of<Crop>(missing, {{"box", true}}, Fault::internal), HasSubstr("box"));
  Packet beyond = packet_with(test::smooth_picture(6, 8));  // resized on the way
  beyond.set(field::box, {0, 1, 14, 11});
  EXPECT_THAT(test::fault_of<Crop>(beyond, {{"box", true}}), HasSubstr("before image.resize"));
}

void expect_refused(const Settings& settings, const std::string& text) {
  EXPECT_REFUSED(crop(settings)->open(), Fault::configuration, text);
}

TEST(Crop, RefusesWhatDoesNotSayWhatToKeep) {
  const std::string sizes =
      "needs height and width; only with box = true and position = \"centre\"";
  expect_refused({}, sizes);
  expect_refused({{"height", std::int64_t{8}}}, "set both");
  expect_refused({{"width", std::int64_t{8}}, {"box", true}}, "set both");
  for (const std::string position : {"random", "random_resized"}) {
    expect_refused({{"position", position}}, sizes);
    expect_refused({{"position", position}, {"box", true}}, sizes);
  }
}

TEST(Crop, RefusesRangesTheWrongWayRound) {
  Settings settings = of_size(8, 9, "random_resized");
  settings["area_most"] = 0.05;
  expect_refused(settings, "area_least is 0.08 and area_most is 0.05");
  settings["area_most"] = 0.5;
  settings["aspect_least"] = 1.5;
  expect_refused(settings, "aspect_least is 1.5");
}

TEST(Crop, RefusesParametersOfAnotherPosition) {
  const Settings of_random_resized{{"area_least", 0.08},
                                   {"area_most", 1.0},
                                   {"aspect_least", 0.75},
                                   {"aspect_most", 1.5},
                                   {"interpolation", std::string("area")}};
  for (const auto& [parameter, value] : of_random_resized) {
    for (const std::string position : {"centre", "random"}) {
      Settings settings = of_size(8, 9, position);
      settings[parameter] = value;
      expect_refused(settings, "parameter '" + parameter +
                                   "' of stage 'crop' has no effect with position = \"" + position +
                                   "\"");
    }
  }
}

}  // namespace seam::stages::crop_test
