#include "stages/sampling/triplets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace seam::stages {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Six images of three items.
void push_images(testing::Harness& harness) {
  for (int i = 0; i < 6; ++i) {
    Packet packet(Origin{nullptr, i + 1, "image " + std::to_string(i)});
    packet.set(field::item, "id_" + std::to_string(i % 3));
    packet.set(field::index, std::int64_t{i});
    harness.push(std::move(packet));
  }
}

/// (index, group, role) of everything that came out.
std::vector<std::tuple<std::int64_t, std::int64_t, Role>> sent(const testing::Harness& harness) {
  std::vector<std::tuple<std::int64_t, std::int64_t, Role>> out;
  for (const Packet& packet : harness.outputs()) {
    out.emplace_back(packet.get(field::index), packet.get(field::group), packet.get(field::role));
  }
  return out;
}

const auto conformance = testing::conformance<Triplets>();

TEST(TripletsStage, SendsThreePicturesATriplet) {
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  push_images(harness);
  EXPECT_THAT(harness.outputs(), SizeIs(0));
  harness.finish();

  ASSERT_THAT(harness.outputs(), SizeIs(18));
  for (std::size_t i = 0; i < 18; i += 3) {
    const auto& anchor = harness.outputs()[i];
    const auto& positive = harness.outputs()[i + 1];
    const auto& negative = harness.outputs()[i + 2];
    for (std::size_t part = 0; part < 3; ++part) {
      EXPECT_EQ(harness.outputs()[i + part].get(field::group), static_cast<std::int64_t>(i / 3));
    }
    EXPECT_EQ(anchor.get(field::role), Role::anchor);
    EXPECT_EQ(positive.get(field::role), Role::positive);
    EXPECT_EQ(negative.get(field::role), Role::negative);
    EXPECT_EQ(anchor.get(field::item), positive.get(field::item));
    EXPECT_NE(anchor.get(field::item), negative.get(field::item));
    EXPECT_NE(anchor.get(field::index), positive.get(field::index));
  }
}

TEST(TripletsStage, KeepsWhatCameWithAnImage) {
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  push_images(harness);
  harness.finish();

  for (const Packet& packet : harness.outputs()) {
    const std::int64_t index = packet.get(field::index);
    EXPECT_EQ(packet.get(field::item), "id_" + std::to_string(index % 3));
    EXPECT_EQ(packet.origin().item, "image " + std::to_string(index));
  }
}

TEST(TripletsStage, TheSameSeedAndEpochGiveTheSameTriplets) {
  const auto run = [](std::uint64_t seed, std::int64_t epoch) {
    testing::Harness harness("triplets", std::make_unique<Triplets>());
    harness.seed(seed).epoch(epoch);
    push_images(harness);
    harness.finish();
    return sent(harness);
  };
  EXPECT_EQ(run(1, 4), run(1, 4));
  EXPECT_NE(run(1, 4), run(1, 5));
  EXPECT_NE(run(1, 4), run(2, 4));
}

TEST(TripletsStage, StartsAnewWithEveryFlow) {
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  push_images(harness);
  harness.finish();
  const auto first = sent(harness);
  (void)harness.take_outputs();

  push_images(harness);
  harness.finish();
  EXPECT_EQ(sent(harness), first);
}

TEST(TripletsStage, SendsAsManyAsAskedFor) {
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  harness.set("per_epoch", 40).set("anchors", "each_image_once");
  push_images(harness);
  harness.finish();
  EXPECT_THAT(harness.outputs(), SizeIs(120));
}

TEST(TripletsStage, RoundsUpToFullBatches) {
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  harness.set("per_epoch", 40).set("multiple_of", 32);
  push_images(harness);
  harness.finish();
  EXPECT_THAT(harness.outputs(), SizeIs(3 * 64));
}

TEST(TripletsStage, NeedsTwoItems) {
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  Packet packet;
  packet.set(field::item, std::string("id_1"));
  std::string message;
  try {
    harness.push(packet).finish();
    if (!harness.errors().empty()) message = harness.errors().front().full_message();
  } catch (const Error& error) {
    message = error.full_message();
  }
  EXPECT_THAT(message, HasSubstr("two items"));
}

}  // namespace
}  // namespace seam::stages
