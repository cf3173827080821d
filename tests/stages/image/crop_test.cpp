#include "stages/image/crop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <seam/box.hpp>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages {
namespace {

using seam::testing::Harness;
using ::testing::HasSubstr;
using Settings = std::map<std::string, Value>;

Packet packet_with(const Image& image) {
  Packet packet;
  packet.set(field::image, image);
  return packet;
}

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

std::unique_ptr<Harness> crop(const Settings& settings) {
  auto harness = std::make_unique<Harness>("crop", std::make_unique<Crop>());
  for (const auto& [name, value] : settings) harness->set(name, value);
  return harness;
}

Settings of_size(std::int64_t height, std::int64_t width, const std::string& position) {
  return {{"height", height}, {"width", width}, {"position", position}};
}

std::vector<Image> at_random(int threads = 1, std::int64_t epoch = 0, std::uint64_t seed = 1,
                             bool training = true) {
  const auto harness = crop(of_size(8, 9, "random"));
  const std::vector<Packet> packets(24, packet_with(test::smooth_picture(40, 30)));
  harness->seed(seed).epoch(epoch).training(training).push_all(packets, threads);
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

TEST(Crop, GivesTheSameBytesForAnyNumberOfThreads) {
  EXPECT_EQ(at_random(1), at_random(4));
}

TEST(Crop, DrawsAnewForEveryPictureEpochAndSeed) {
  const std::vector<Image> images = at_random();
  EXPECT_NE(images[0], images[1]);
  EXPECT_NE(images, at_random(1, 1));
  EXPECT_NE(images, at_random(1, 0, 2));
}

TEST(Crop, DrawsInEvaluationToo) {
  EXPECT_EQ(at_random(1, 0, 1, true), at_random(1, 0, 1, false));
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

}  // namespace
}  // namespace seam::stages
