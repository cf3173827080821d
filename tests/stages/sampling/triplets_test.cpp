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
namespace triplets_test {

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

const auto conformance = testing::conformance<Triplets>({
    .second = {{"multiple_of", std::int64_t{4}}},  // the made-up packets give 6
});

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

/// Of the six images above: image i + 1 is i's negative and, where positives are mined, i + 3 its
/// positive.
class MadeUpMining final : public MinedNegatives {
 public:
  MadeUpMining() {
    for (std::int64_t i = 0; i < 6; ++i) {
      images_.push_back({i, "id_" + std::to_string(i % 3), "image " + std::to_string(i)});
      lists_.negatives.push_back((i + 1) % 6);
    }
  }
  void mine_positives() {
    for (std::int64_t i = 0; i < 6; ++i) lists_.positives.push_back((i + 3) % 6);
  }

  void want(const MiningRule& rule) override { wanted = rule; }
  [[nodiscard]] const MinedLists* lists(const MiningRule& rule) const override {
    return ready && rule == wanted ? &lists_ : nullptr;
  }
  [[nodiscard]] std::span<const MinedImage> images() const override { return images_; }

  bool ready = true;
  MiningRule wanted;

 private:
  std::vector<MinedImage> images_;
  MinedLists lists_;
};

std::string message_of(testing::Harness& harness) {
  try {
    push_images(harness);
    harness.finish();
    if (!harness.errors().empty()) return harness.errors().front().full_message();
  } catch (const Error& error) {
    return error.full_message();
  }
  return "accepted";
}

TEST(TripletsStage, TakesMinedNegatives) {
  MadeUpMining mined;
  testing::Harness random("triplets", std::make_unique<Triplets>());
  push_images(random);
  random.finish();
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  harness.set("negatives", "hardest_other_category").refer<MinedNegatives>("mined", mined);
  push_images(harness);
  harness.finish();
  EXPECT_EQ(mined.wanted.negatives, NegativeSource::hardest_other_category);

  ASSERT_THAT(harness.outputs(), SizeIs(18));
  for (std::size_t i = 0; i < 18; i += 3) {
    const std::int64_t anchor = harness.outputs()[i].get(field::index);
    EXPECT_EQ(anchor, random.outputs()[i].get(field::index)) << "the rule changes negatives only";
    EXPECT_EQ(harness.outputs()[i + 1].get(field::index),
              random.outputs()[i + 1].get(field::index));
    EXPECT_EQ(harness.outputs()[i + 2].get(field::index), (anchor + 1) % 6);
  }
}

TEST(TripletsStage, TakesMinedPositivesOfSemiHardTriplets) {
  MadeUpMining mined;
  mined.mine_positives();
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  harness.set("negatives", "semi_hard").set("margin", 0.5).refer<MinedNegatives>("mined", mined);
  // In reverse: what counts is an image's index.
  for (int i = 5; i >= 0; --i) {
    Packet packet(Origin{nullptr, i + 1, "image " + std::to_string(i)});
    packet.set(field::item, "id_" + std::to_string(i % 3));
    packet.set(field::index, std::int64_t{i});
    harness.push(std::move(packet));
  }
  harness.finish();
  EXPECT_EQ(mined.wanted, (MiningRule{NegativeSource::semi_hard, 0.5}));
  for (std::size_t i = 0; i < 18; i += 3) {
    const std::int64_t anchor = harness.outputs()[i].get(field::index);
    EXPECT_EQ(harness.outputs()[i + 1].get(field::index), (anchor + 3) % 6);
    EXPECT_EQ(harness.outputs()[i + 2].get(field::index), (anchor + 1) % 6);
  }
}

TEST(TripletsStage, BeginsWithRandomEpochs) {
  MadeUpMining mined;
  mined.ready = false;
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  harness.set("negatives", "hardest_same_category").set("random_epochs", 2);
  harness.refer<MinedNegatives>("mined", mined).epoch(1);
  EXPECT_EQ(message_of(harness), "accepted");
  harness.epoch(2);
  EXPECT_THAT(message_of(harness), HasSubstr("no negatives have been mined yet"));
}

TEST(TripletsStage, RefusesImagesOtherThanTheMinedOnes) {
  const auto refusal = [](const std::vector<std::pair<std::int64_t, std::string>>& images) {
    MadeUpMining mined;
    testing::Harness harness("triplets", std::make_unique<Triplets>());
    harness.set("negatives", "hardest_same_category").refer<MinedNegatives>("mined", mined);
    for (const auto& [index, item] : images) {
      Packet packet(Origin{nullptr, index + 1, "image " + std::to_string(index)});
      packet.set(field::item, item);
      packet.set(field::index, index);
      harness.push(std::move(packet));
    }
    harness.finish();
    EXPECT_THAT(harness.outputs(), SizeIs(0));
    return harness.errors().empty() ? "accepted" : harness.errors().front().full_message();
  };
  EXPECT_THAT(refusal({{0, "id_0"}, {1, "id_1"}, {6, "id_0"}}),
              HasSubstr("image 6) (index 6) was not embedded for mining"));
  EXPECT_THAT(refusal({{0, "id_0"}, {1, "id_7"}}),
              HasSubstr("shows item 'id_7', but index 1 was mined as 'image 1' of item 'id_1'"));
  EXPECT_THAT(refusal({{0, "id_0"}, {1, "id_1"}, {0, "id_0"}}), HasSubstr("was received twice"));
  EXPECT_THAT(refusal({{0, "id_0"}, {1, "id_1"}}),
              HasSubstr("'image 2' (index 2) was embedded for mining, but not received here"));
}

TEST(TripletsStage, RefusesParametersWithoutEffect) {
  MadeUpMining mined;
  const auto refusal = [&](const char* negatives, const char* parameter, Value value, bool refer) {
    testing::Harness harness("triplets", std::make_unique<Triplets>());
    harness.set("negatives", negatives);
    if (parameter != nullptr) harness.set(parameter, std::move(value));
    if (refer) harness.refer<MinedNegatives>("mined", mined);
    return message_of(harness);
  };
  EXPECT_THAT(refusal("random_other_item", nullptr, false, true),
              HasSubstr("`mined` has no effect"));
  EXPECT_THAT(refusal("random_other_item", "random_epochs", std::int64_t{1}, false),
              HasSubstr("`random_epochs` has no effect"));
  EXPECT_THAT(refusal("random_other_item", "margin", 1.0, false),
              HasSubstr("`margin` has no effect"));
  EXPECT_THAT(refusal("semi_hard", nullptr, false, false), HasSubstr("needs `mined`"));
  EXPECT_THAT(refusal("hardest_same_category", "margin", 1.0, true),
              HasSubstr("`margin` has no effect"));
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

}  // namespace triplets_test
}  // namespace seam::stages
