#include "stages/sampling/triplets.hpp"

#include <algorithm>
#include <numeric>
#include <seam/conformance.hpp>

#include "tests/stages/sampling/sampler_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::triplets_test {

// Items of 3, 1, 4 and 2 images; rows of one item are not adjacent.
const std::vector<std::int64_t> items{70, 50, 70, 90, 90, 10, 70, 90, 10, 90};

TripletSampler sampler(AnchorChoice anchors = AnchorChoice::with_replacement) {
  return {items, anchors};
}

std::int64_t item_of(std::int64_t row) {
  return items[row];
}

TEST(TripletSampler, PositivesShareTheItemAndNegativesDoNot) {
  const TripletSampler triplets = sampler();
  for (std::uint64_t number = 0; number < 2000; ++number) {
    const DrawnTriplet triplet = triplets.draw(1, 2, 3, number);
    EXPECT_EQ(item_of(triplet.anchor), item_of(triplet.positive));
    EXPECT_NE(item_of(triplet.anchor), item_of(triplet.negative));
    if (item_of(triplet.anchor) == 50) {
      EXPECT_EQ(triplet.anchor, triplet.positive);
    } else {
      EXPECT_NE(triplet.anchor, triplet.positive);
    }
  }
}

TEST(TripletSampler, DrawsUniformly) {
  const TripletSampler triplets = sampler();
  constexpr int draws = 60'000;
  std::map<std::int64_t, int> anchors;
  std::map<std::int64_t, int> positives_of_row_0;
  std::map<std::int64_t, int> negatives_of_item_90;
  int of_row_0 = 0;
  int of_item_90 = 0;
  for (int number = 0; number < draws; ++number) {
    const DrawnTriplet triplet = triplets.draw(5, 0, 0, static_cast<std::uint64_t>(number));
    ++anchors[triplet.anchor];
    if (triplet.anchor == 0) {
      ++of_row_0;
      ++positives_of_row_0[triplet.positive];
    }
    if (item_of(triplet.anchor) == 90) {
      ++of_item_90;
      ++negatives_of_item_90[triplet.negative];
    }
  }
  for (const auto& [row, count] : anchors) EXPECT_NEAR(count, draws / 10.0, 400) << row;
  ASSERT_EQ(positives_of_row_0.size(), 2U);
  for (const auto& [row, count] : positives_of_row_0) {
    EXPECT_NEAR(count, of_row_0 / 2.0, 250) << row;
  }
  ASSERT_EQ(negatives_of_item_90.size(), 6U);
  for (const auto& [row, count] : negatives_of_item_90) {
    EXPECT_NEAR(count, of_item_90 / 6.0, 300) << row;
  }
}

TEST(TripletSampler, UsesEachImageOnceAnEpochInANewOrder) {
  for (const std::uint64_t size : {2U, 3U, 4U, 5U, 15U, 16U, 17U, 63U, 64U, 65U, 1000U}) {
    std::vector<std::int64_t> all(size);
    std::iota(all.begin(), all.end(), 0);
    const TripletSampler triplets(all, AnchorChoice::each_image_once);
    std::set<std::vector<std::int64_t>> orders{all};
    for (const auto& [epoch, round] : {std::pair{0U, 0U}, {0U, 1U}, {1U, 0U}}) {
      std::vector<std::int64_t> anchors;
      for (std::uint64_t number = 0; number < size; ++number) {
        anchors.push_back(triplets.draw(1, 0, epoch, round * size + number).anchor);
      }
      orders.insert(anchors);
      EXPECT_TRUE(std::ranges::is_permutation(anchors, all)) << size;
    }
    if (size > 10) {
      EXPECT_EQ(orders.size(), 4U) << size << ": also not the order of the rows";
    }
  }
}

TEST(TripletSampler, CountsItemsWithOneImage) {
  EXPECT_EQ(sampler().single_image_items(), 1);
}

TEST(TripletSampler, DependsOnItsArgumentsAlone) {
  const TripletSampler triplets = sampler();
  const DrawnTriplet later = triplets.draw(9, 8, 7, 1000);
  (void)triplets.draw(9, 8, 7, 3);
  EXPECT_EQ(triplets.draw(9, 8, 7, 1000), later);

  int changed = 0;
  for (std::uint64_t number = 0; number < 100; ++number) {
    const DrawnTriplet here = triplets.draw(9, 8, 7, number);
    changed += here == triplets.draw(10, 8, 7, number) ? 0 : 1;
    changed += here == triplets.draw(9, 9, 7, number) ? 0 : 1;
    changed += here == triplets.draw(9, 8, 8, number) ? 0 : 1;
  }
  EXPECT_GT(changed, 270);
}

TEST(TripletSampler, DrawsTheSameTripletsInEveryRelease) {
  const std::vector<DrawnTriplet> any{{1, 1, 5}, {6, 2, 4}, {5, 8, 4}, {1, 1, 3}};
  const std::vector<DrawnTriplet> once{{8, 5, 4}, {3, 9, 2}, {5, 8, 3}, {4, 9, 0}};
  for (std::size_t number = 0; number < 4; ++number) {
    EXPECT_EQ(sampler().draw(1, 2, 3, number), any[number]);
    EXPECT_EQ(sampler(AnchorChoice::each_image_once).draw(1, 2, 3, number), once[number]);
  }
}

TEST(TripletSampler, SaysWhatIsMissing) {
  const auto error_of = [](const std::vector<std::int64_t>& own) {
    return test::error_of([&] { return TripletSampler(own, AnchorChoice::with_replacement); });
  };
  EXPECT_THAT(error_of({}), HasSubstr("two items"));
  EXPECT_THAT(error_of({4}), HasSubstr("but only received 1 image of 1 item"));
  EXPECT_THAT(error_of({4, 4, 4}), HasSubstr("but only received 3 images of 1 item"));
  EXPECT_EQ(error_of({1, 2, 3}), "no error");
}

std::vector<Packet> six_images() {
  return test::images_of_items(6, 3);
}

const auto conformance = testing::conformance<Triplets>({
    .second = {{"multiple_of", std::int64_t{4}}},  // the made-up packets give 6
});

TEST(TripletsStage, SendsThreePicturesATriplet) {
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  harness.push_all(six_images());
  EXPECT_THAT(harness.outputs(), SizeIs(0));
  harness.finish();

  ASSERT_THAT(harness.outputs(), SizeIs(18));
  for (std::size_t i = 0; i < 18; i += 3) {
    const auto& anchor = harness.outputs()[i];
    const auto& positive = harness.outputs()[i + 1];
    const auto& negative = harness.outputs()[i + 2];
    for (std::size_t part = 0; part < 3; ++part) {
      EXPECT_EQ(harness.outputs()[i + part].get(field::group), static_cast<std::int64_t>(i / 3));
      EXPECT_EQ(harness.outputs()[i + part].get(field::group_size), 3);
    }
    EXPECT_EQ(anchor.get(field::role), Role::anchor);
    EXPECT_EQ(positive.get(field::role), Role::positive);
    EXPECT_EQ(negative.get(field::role), Role::negative);
    EXPECT_EQ(anchor.get(field::item), positive.get(field::item));
    EXPECT_NE(anchor.get(field::item), negative.get(field::item));
    EXPECT_NE(anchor.get(field::index), positive.get(field::index));
  }
  for (const Packet& packet : harness.outputs()) {
    const std::int64_t index = packet.get(field::index);
    EXPECT_EQ(packet.get(field::item), "id_" + std::to_string(index % 3));
    EXPECT_EQ(packet.origin().item, "image " + std::to_string(index));
  }
}

TEST(TripletsStage, EachSeedAndEpochHasItsTriplets) {
  const auto run = [](std::uint64_t seed, std::int64_t epoch) {
    testing::Harness harness("triplets", std::make_unique<Triplets>());
    harness.seed(seed).epoch(epoch);
    harness.push_all(six_images()).finish();
    return test::sent(harness, field::role);
  };
  EXPECT_NE(run(1, 4), run(1, 5));
  EXPECT_NE(run(1, 4), run(2, 4));
}

TEST(TripletsStage, SendsAsManyAsAskedForOrFullBatches) {
  for (const auto& [multiple, triplets] : {std::pair{1, 40U}, {32, 64U}}) {
    testing::Harness harness("triplets", std::make_unique<Triplets>());
    harness.set("per_epoch", 40).set("anchors", "each_image_once").set("multiple_of", multiple);
    harness.push_all(six_images()).finish();
    EXPECT_THAT(harness.outputs(), SizeIs(3 * triplets));
  }
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
  return test::error_of_epoch(harness, six_images());
}

TEST(TripletsStage, TakesMinedNegatives) {
  MadeUpMining mined;
  testing::Harness random("triplets", std::make_unique<Triplets>());
  random.push_all(six_images()).finish();
  testing::Harness harness("triplets", std::make_unique<Triplets>());
  harness.set("negatives", "hardest_other_category").refer<MinedNegatives>("mined", mined);
  harness.push_all(six_images()).finish();
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
  std::vector<Packet> images = six_images();
  std::reverse(images.begin(), images.end());  // what counts is an image's index
  harness.push_all(images).finish();
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
  EXPECT_EQ(message_of(harness), "no error");
  harness.epoch(2);
  EXPECT_REFUSED(harness.push_all(six_images()), Fault::configuration,
                 "no negatives have been mined yet");
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
    for (const Error& error : harness.errors()) EXPECT_EQ(error.fault(), Fault::configuration);
    return harness.errors().empty() ? "accepted" : harness.errors().front().full_message();
  };
  EXPECT_THAT(
      refusal({{0, "id_0"}, {1, "id_1"}, {6, "id_0"}}),
      HasSubstr("image 6) (index 6) was not embedded for mining; the mining flow must embed "
                "exactly the images"));
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
              HasSubstr("has no effect with negatives"));
  EXPECT_THAT(refusal("random_other_item", "margin", 1.0, false),
              HasSubstr("has no effect with negatives"));
  EXPECT_THAT(refusal("semi_hard", nullptr, false, false), HasSubstr("needs `mined`"));
  EXPECT_THAT(refusal("hardest_same_category", "margin", 1.0, true),
              HasSubstr("has no effect with negatives"));
}

}  // namespace seam::stages::triplets_test
