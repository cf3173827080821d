#include "stages/image/crop.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <seam/box.hpp>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include "stages/image/augment.hpp"
#include "stages/image/decode.hpp"
#include "stages/image/erase.hpp"
#include "stages/image/resize.hpp"
#include "tests/stages/image/pictures.hpp"

namespace seam::stages::crop_test {

using seam::testing::Harness;
using test::packet_with;
using ::testing::HasSubstr;
using Settings = std::map<std::string, Value>;

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
  auto harness = std::make_unique<Harness>("crop", std::make_unique<Crop>());
  for (const auto& [name, value] : settings) harness->set(name, value);
  return harness;
}

Settings of_size(std::int64_t height, std::int64_t width, const std::string& position) {
  return {{"height", height}, {"width", width}, {"position", position}};
}

struct Run {
  int threads = 1;
  std::int64_t epoch = 0;
  std::uint64_t seed = 1;
  bool training = true;
};

std::vector<Image> cropped(const std::string& position, const Run& run) {
  const auto harness = crop(of_size(8, 9, position));
  const std::vector<Packet> packets(24, packet_with(test::smooth_picture(40, 30)));
  harness->seed(run.seed).epoch(run.epoch).training(run.training);
  harness->push_all(packets, run.threads);
  std::vector<Image> images;
  for (const Packet& packet : harness->outputs()) images.push_back(packet.get(field::image));
  return images;
}

std::string fault_of(const Packet& packet, const Settings& settings) {
  const auto harness = crop(settings);
  harness->push(packet);
  if (harness->errors().empty()) return "no error";
  EXPECT_EQ(harness->errors().front().fault(), Fault::data);
  return harness->errors().front().what();
}

std::string refusal_of(const Settings& settings) {
  try {
    crop(settings)->open();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::configuration);
    return error.what();
  }
  return "was accepted";
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

class CropAtRandom : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Positions, CropAtRandom, ::testing::Values("random", "random_resized"));

TEST_P(CropAtRandom, GivesTheSameBytesForAnyNumberOfThreads) {
  EXPECT_EQ(cropped(GetParam(), {.threads = 1}), cropped(GetParam(), {.threads = 4}));
}

TEST_P(CropAtRandom, DrawsAnewForEveryPictureEpochAndSeed) {
  const std::vector<Image> images = cropped(GetParam(), {});
  EXPECT_NE(images[0], images[1]);
  EXPECT_NE(images, cropped(GetParam(), {.epoch = 1}));
  EXPECT_NE(images, cropped(GetParam(), {.seed = 2}));
}

TEST_P(CropAtRandom, DrawsInEvaluationToo) {
  EXPECT_EQ(cropped(GetParam(), {.training = true}), cropped(GetParam(), {.training = false}));
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

TEST(Crop, DrawsWithinTheBoxWhereToldSo) {
  Settings settings = of_size(10, 12, "random_resized");
  settings["box"] = true;
  settings["area_least"] = 1.0;
  settings["aspect_least"] = 1.2;
  settings["aspect_most"] = 1.2;
  const auto harness = crop(settings);
  harness->push_all(boxed_pictures());
  ASSERT_EQ(harness->outputs().size(), 6U);
  // The third box is 12 wide and 10 high, so that the whole of it is kept.
  EXPECT_EQ(
      harness->outputs()[2].get(field::image),
      crop_image(test::smooth_picture(12, 16), {.top = 1, .left = 2, .height = 10, .width = 12}));
}

TEST(Crop, CutsTheBoxOut) {
  const auto harness = crop({{"box", true}});
  harness->push_all(boxed_pictures());
  ASSERT_EQ(harness->outputs().size(), 6U);
  EXPECT_EQ(
      harness->outputs()[2].get(field::image),
      crop_image(test::smooth_picture(12, 16), {.top = 1, .left = 2, .height = 10, .width = 12}));
}

TEST(Crop, CropsTheBoxWhereASizeIsGivenToo) {
  Settings settings = of_size(4, 6, "centre");
  settings["box"] = true;
  const auto harness = crop(settings);
  harness->push_all(boxed_pictures());
  ASSERT_EQ(harness->outputs().size(), 6U);
  EXPECT_EQ(
      harness->outputs()[2].get(field::image),
      crop_image(test::smooth_picture(12, 16), {.top = 4, .left = 5, .height = 4, .width = 6}));
}

TEST(Crop, NeedsABoxOnlyWhereTold) {
  const auto needs_box = [](const Settings& settings) {
    const auto harness = crop(settings);
    const auto& needs = harness->runner().description().needs;
    return std::ranges::any_of(needs, [](const FieldInfo& field) { return field.name == "box"; });
  };
  EXPECT_TRUE(needs_box({{"box", true}}));
  EXPECT_FALSE(needs_box(of_size(8, 9, "centre")));
}

/// The values declared for the field `image`.
std::vector<std::string> values_of_image(const std::vector<FieldInfo>& fields) {
  return std::ranges::find(fields, std::string("image"), &FieldInfo::name)->values;
}

template <class S>
std::vector<std::string> provided_image(const Settings& settings = {}) {
  Harness harness("stage", std::make_unique<S>());
  for (const auto& [name, value] : settings) harness.set(name, value);
  return values_of_image(harness.runner().description().provides);
}

TEST(Crop, NeedsAnUnchangedImageForABox) {
  using ::testing::ElementsAre;
  const auto boxed = crop({{"box", true}});
  const std::vector<std::string> needed = values_of_image(boxed->runner().description().needs);
  EXPECT_THAT(needed, ElementsAre("as decoded"));
  EXPECT_EQ(provided_image<Decode>(), needed);
  const auto changed = ElementsAre("changed");
  EXPECT_THAT(provided_image<Crop>(of_size(8, 9, "centre")), changed);
  EXPECT_THAT(provided_image<Resize>(), changed);
  EXPECT_THAT(provided_image<Augment>(), changed);
  EXPECT_THAT(provided_image<Erase>(), changed);
  const auto plain = crop(of_size(8, 9, "centre"));
  EXPECT_THAT(values_of_image(plain->runner().description().needs), ::testing::IsEmpty());
}

TEST(Crop, RefusesAPictureThatIsSmaller) {
  for (const char* const position : {"centre", "random"}) {
    EXPECT_THAT(fault_of(packet_with(test::smooth_picture(7, 30)), of_size(8, 9, position)),
                HasSubstr("height 7 and width 30"));
  }
}

TEST(Crop, RefusesABoxThatIsMissingOrBeyondThePicture) {
  const auto missing = crop({{"box", true}});
  missing->push(packet_with(test::smooth_picture(12, 16)));
  ASSERT_EQ(missing->errors().size(), 1U);
  EXPECT_THAT(missing->errors().front().what(), HasSubstr("box"));
  Packet beyond = packet_with(test::smooth_picture(6, 8));  // resized on the way
  beyond.set(field::box, {0, 1, 14, 11});
  EXPECT_THAT(fault_of(beyond, {{"box", true}}), HasSubstr("before image.resize"));
}

TEST(Crop, RefusesWhatDoesNotSayWhatToKeep) {
  EXPECT_THAT(refusal_of({}), HasSubstr("box = true"));
  EXPECT_THAT(refusal_of({{"height", std::int64_t{8}}}), HasSubstr("set both"));
  EXPECT_THAT(refusal_of({{"width", std::int64_t{8}}, {"box", true}}), HasSubstr("set both"));
  EXPECT_THAT(refusal_of({{"box", true}, {"position", std::string("random")}}),
              HasSubstr("position"));
}

TEST(Crop, RandomResizedNeedsASize) {
  const Value position = std::string("random_resized");
  EXPECT_THAT(refusal_of({{"position", position}}), HasSubstr("needs height and width"));
  EXPECT_THAT(refusal_of({{"position", position}, {"box", true}}),
              HasSubstr("needs height and width"));
}

TEST(Crop, RefusesRangesTheWrongWayRound) {
  Settings settings = of_size(8, 9, "random_resized");
  settings["area_most"] = 0.05;
  EXPECT_THAT(refusal_of(settings), HasSubstr("area_least is 0.08 and area_most is 0.05"));
  settings["area_most"] = 0.5;
  settings["aspect_least"] = 1.5;
  EXPECT_THAT(refusal_of(settings), HasSubstr("aspect_least is 1.5"));
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
      EXPECT_THAT(
          refusal_of(settings),
          HasSubstr("`" + parameter + "` has no effect with `position = \"" + position + "\"`"));
    }
  }
}

}  // namespace seam::stages::crop_test
