#include "stages/sampling/mined.hpp"

#include <torch/types.h>

#include <limits>
#include <seam/conformance.hpp>

#include "tests/stages/retrieval/batches.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"

namespace seam::stages::mined_test {

using retrieval_test::batch;
using testing::Harness;

const MiningRule semi_hard{NegativeSource::semi_hard, 1000};
const MiningRule other_category{NegativeSource::hardest_other_category, 0};

MinedNegatives& interface_of(Harness& mined) {
  return *static_cast<MinedNegatives*>(mined.runner().interface(type_name<MinedNegatives>()));
}

/// The images of a list: categories as given, on a line.
Packet on_a_line(std::int64_t first, const std::vector<std::string>& items,
                 const std::vector<float>& places, const std::vector<std::int64_t>& categories) {
  Packet packet = batch(first, items,
                        torch::tensor(places).view({static_cast<std::int64_t>(places.size()), 1}));
  packet.set(field::categories, categories);
  return packet;
}

std::vector<Packet> garments(Harness& /*mined*/) {
  return {on_a_line(3, {"skirt", "dress"}, {9, 4}, {1, 0}),
          on_a_line(0, {"shirt", "shirt", "skirt"}, {0, 3, 1}, {0, 0, 1})};
}

/// As the sampling.triplets with these rules do.
void want(Harness& mined, const std::vector<MiningRule>& rules) {
  for (const MiningRule& rule : rules) interface_of(mined).want(rule);
}

const auto conformance = testing::conformance<Mined>({
    .packets = &garments,
    .connect = [](Harness& mined) -> std::shared_ptr<void> {
      want(mined, {semi_hard, other_category});
      return nullptr;
    },
    .training = false,  // a flow that trains is refused
});

std::unique_ptr<Harness> filled() {
  auto mined = std::make_unique<Harness>("mined", std::make_unique<Mined>());
  want(*mined, {semi_hard, other_category});
  mined->push_all(garments(*mined)).finish();
  EXPECT_THAT(mined->errors(), IsEmpty());
  return mined;
}

TEST(Mined, ServesNegativesByIndexWhateverOrderImagesCameIn) {
  const auto mined = filled();
  const MinedNegatives& served = interface_of(*mined);
  ASSERT_THAT(served.images(), SizeIs(5));
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(served.images()[i].index, i);
  EXPECT_EQ(served.images()[4].item, "dress");
  ASSERT_NE(served.lists(other_category), nullptr);
  EXPECT_THAT(served.lists(other_category)->negatives, ElementsAre(2, 2, 0, 4, 2));
  EXPECT_THAT(served.lists(other_category)->positives, IsEmpty());
  ASSERT_NE(served.lists(semi_hard), nullptr);
  EXPECT_THAT(served.lists(semi_hard)->positives, ElementsAre(1, 0, 3, 2, 4));
  EXPECT_THAT(served.lists(semi_hard)->negatives, ElementsAre(4, 3, 0, 0, 1));
  EXPECT_EQ(served.lists({NegativeSource::semi_hard, 2}), nullptr)
      << "no stage requested this margin";
  EXPECT_EQ(mined->metric("hardest_other_category.distance"), 8);
  EXPECT_EQ(mined->metric("semi_hard.fallbacks"), 0.2);
}

TEST(Mined, DrawsAPositiveOfTheItemAnewInEachEpoch) {
  Harness mined("mined", std::make_unique<Mined>());
  interface_of(mined).want(semi_hard);
  const std::vector<std::string> items{"a", "a", "a", "a", "a", "b"};
  const auto positives = [&](std::int64_t epoch) {
    mined.epoch(epoch);
    mined.push(on_a_line(0, items, {0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, 0, 0})).finish();
    return interface_of(mined).lists(semi_hard)->positives;
  };
  const auto first = positives(0);
  for (std::int64_t row = 0; row < 5; ++row) {
    EXPECT_NE(first[row], row);
    EXPECT_LT(first[row], 5);
  }
  EXPECT_EQ(first[5], 5);
  EXPECT_EQ(positives(0), first);
  EXPECT_NE(positives(1), first);
}

TEST(Mined, ComparesTheAnchorsCapsule) {
  Harness mined("mined", std::make_unique<Mined>());
  mined.set("compare", "anchor_capsule");
  interface_of(mined).want(other_category);
  Packet packet = on_a_line(0, {"a", "b", "c"}, {0, 0, 0}, {0, 1, 1});
  // Under capsule 0, c is closer to a; under capsule 1, b is as close to a as c.
  packet.set(field::capsules, torch::tensor({{{0.F}, {5.F}}, {{4.F}, {7.F}}, {{1.F}, {3.F}}}));
  mined.push(std::move(packet)).finish();
  ASSERT_THAT(mined.errors(), IsEmpty());
  EXPECT_THAT(interface_of(mined).lists(other_category)->negatives, ElementsAre(2, 0, 0));
}

TEST(Mined, ComesBackFromACheckpoint) {
  const auto mined = filled();
  Harness again("mined", std::make_unique<Mined>());
  want(again, {other_category, {NegativeSource::hardest_same_category, 0}, semi_hard});
  again.open();
  again.runner().load(mined->runner().save());
  MinedNegatives& served = interface_of(again);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(served.images()[i], interface_of(*mined).images()[i]);
  }
  for (const MiningRule& rule : {semi_hard, other_category}) {
    ASSERT_NE(served.lists(rule), nullptr);
    EXPECT_EQ(*served.lists(rule), *interface_of(*mined).lists(rule));
  }
  EXPECT_EQ(served.lists({NegativeSource::hardest_same_category, 0}), nullptr)
      << "it was not mined";

  Harness third("mined", std::make_unique<Mined>());
  interface_of(third).want(semi_hard);
  third.open();
  third.runner().load(again.runner().save());
  ASSERT_NE(interface_of(third).lists(semi_hard), nullptr) << "after a rule without lists";
  EXPECT_EQ(*interface_of(third).lists(semi_hard), *served.lists(semi_hard));
}

TEST(Mined, ListsByAnotherComparisonDoNotComeBack) {
  const Archive saved = filled()->runner().save();
  const auto has_lists = [](const Archive& archive, const char* compare) {
    Harness again("mined", std::make_unique<Mined>());
    again.set("compare", compare);
    interface_of(again).want(other_category);
    again.open();
    again.runner().load(archive);
    return interface_of(again).lists(other_category) != nullptr;
  };
  EXPECT_TRUE(has_lists(saved, "embedding"));
  EXPECT_FALSE(has_lists(saved, "anchor_capsule"));
  Archive old;  // of an earlier version
  for (const auto& [name, entry] : saved.entries()) {
    if (name != "compare") old.put(name, entry);
  }
  EXPECT_TRUE(has_lists(old, "anchor_capsule"));
}

TEST(Mined, RefusesSavedListsThatDoNotFit) {
  const auto mined = filled();
  const Archive saved = mined->runner().save();
  const auto refusal = [&](const std::string& entry, const Tensor& changed) {
    Archive archive;
    for (const auto& [name, value] : saved.entries()) {
      if (name != entry) archive.put(name, value);
    }
    put_tensor(archive, entry, changed);
    Harness again("mined", std::make_unique<Mined>());
    interface_of(again).want(semi_hard);
    again.open();
    return test::message_of([&] { again.runner().load(archive); });
  };
  EXPECT_THAT(refusal("negatives 0", torch::tensor({0, 1, 2, 3, 5}, torch::kInt64)),
              HasSubstr("'negatives 0' does not fit 5 mined images"));
  EXPECT_THAT(refusal("positives 0", torch::tensor({0, 1, 2}, torch::kInt64)),
              HasSubstr("'positives 0' does not fit"));
  EXPECT_THAT(refusal("indices", torch::tensor({0, 1, 2, 3}, torch::kInt64)),
              HasSubstr("different numbers of indices"));
  EXPECT_THAT(refusal("indices", torch::tensor({0, 1, 2, 2, 3}, torch::kInt64)),
              HasSubstr("ascending order"));
}

TEST(Mined, ItsListsAreKeptUntilTheNextFlowThatMines) {
  Harness mined("mined", std::make_unique<Mined>());
  EXPECT_TRUE(mined.runner().description().keeps_state);
  EXPECT_TRUE(mined.runner().description().state_made_by_flow);
}

TEST(Mined, RefusesWhatCannotBeMined) {
  const auto refusal = [](const std::vector<Packet>& packets) {
    Harness mined("mined", std::make_unique<Mined>());
    interface_of(mined).want(other_category);
    mined.push_all(packets).finish();
    return mined.errors().empty() ? "accepted" : mined.errors().front().full_message();
  };
  const Packet two = on_a_line(0, {"shirt", "skirt"}, {0, 1}, {0, 1});
  EXPECT_THAT(refusal({two, on_a_line(1, {"skirt"}, {1}, {1})}),
              HasSubstr("two images have index 1: list.txt:2 (skirt) and list.txt:2 (skirt)"));
  EXPECT_THAT(refusal({two, on_a_line(-1, {"skirt"}, {1}, {1})}), HasSubstr("has no 'index'"));
  EXPECT_THAT(refusal({two, on_a_line(2, {""}, {1}, {1})}), HasSubstr("has no 'item'"));
  EXPECT_THAT(refusal({two, batch(2, {"dress"}, torch::zeros({1, 3}))}),
              HasSubstr("must have the same shape"));
  EXPECT_THAT(
      refusal({two, on_a_line(2, {"dress"}, {std::numeric_limits<float>::infinity()}, {1})}),
      HasSubstr("list.txt:3 (dress)"));
}

TEST(Mined, RefusesATrainingFlow) {
  Harness mined("mined", std::make_unique<Mined>());
  interface_of(mined).want(semi_hard);
  mined.training(true);
  EXPECT_REFUSED(mined.push(on_a_line(0, {"shirt", "skirt"}, {0, 1}, {0, 1})), Fault::configuration,
                 "mined with the model in evaluation mode");
}

TEST(Mined, WarnsWhereNobodyAsks) {
  Harness mined("mined", std::make_unique<Mined>());
  mined.push(on_a_line(0, {"shirt", "skirt"}, {0, 1}, {0, 1})).finish();
  ASSERT_THAT(mined.log(), SizeIs(1));
  EXPECT_THAT(mined.log().front().text, HasSubstr("nothing to mine"));
}

}  // namespace seam::stages::mined_test
