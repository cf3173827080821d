#include "stages/metric/verification.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stages/metric/verification_curve.hpp"
#include "stages/picture_paths.hpp"
#include "stages/same.hpp"
#include "stages/served_items.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::verification_test {

using seam::testing::Harness;

/// Pairs of numbers on a line: 0 and the distance. The names of their images count from `name`.
Packet batch(const std::vector<float>& distances, const std::vector<std::int64_t>& same,
             std::int64_t name = 0) {
  Packet packet;
  const auto pairs = static_cast<std::int64_t>(distances.size());
  Tensor embedding = torch::zeros({2 * pairs, 2});
  std::vector<std::int64_t> labels;
  std::vector<std::int64_t> groups;
  std::vector<std::string> items;
  std::vector<Origin> origins;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    embedding[2 * pair + 1][0] = distances[static_cast<std::size_t>(pair)];
    for (const std::int64_t row : {2 * pair, 2 * pair + 1}) {
      const std::int64_t label = same[static_cast<std::size_t>(pair)];
      labels.push_back(label);
      groups.push_back(pair);
      items.push_back(label == 1 ? "ann" : row % 2 == 0 ? "ann" : "bob");
      origins.push_back(
          {std::make_shared<std::string>("pairs.txt"), row, "p" + std::to_string(name + row)});
    }
  }
  packet.set(field::embedding, embedding);
  packet.set(field::same, torch::tensor(labels, torch::kInt64));
  packet.set(field::groups, groups);
  packet.set(field::items, items);
  packet.set(field::origins, origins);
  return packet;
}

std::vector<Packet> some() {
  return {batch({1, 3, 2, 4}, {1, 0, 1, 0}), batch({1.5F, 2.5F}, {0, 1}, 10),
          batch({3.5F}, {0}, 20)};
}

const auto conformance = seam::testing::conformance<Verification>({
    .parameters = {{"folds", std::int64_t{1}}},
    .packets = [](Harness&) { return some(); },
    .refused = {{{"far", std::vector<double>{0.0}}}},
});

std::string error_for(Packet packet, const std::string& distance = "euclidean") {
  Harness harness("verification", std::make_unique<Verification>());
  harness.set("distance", distance.c_str()).set("folds", 1);
  harness.push(std::move(packet)).finish();
  return harness.errors().empty() ? "no error" : harness.errors()[0].full_message();
}

TEST(VerificationStage, CountsPairsOfAllBatches) {
  Harness harness("verification", std::make_unique<Verification>());
  harness.set("folds", 1).set("margin", 2.0).set("far", std::vector<double>{0.5, 0.1});
  for (Packet& packet : some()) harness.push(std::move(packet));
  harness.finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  // same 1, 2, 2.5; other 1.5, 3, 3.5, 4: of 12 comparisons 1.5 wins two
  EXPECT_DOUBLE_EQ(harness.metric("auc"), 10.0 / 12);
  EXPECT_DOUBLE_EQ(harness.metric("accuracy_at_margin"), 5.0 / 7);
  EXPECT_EQ(harness.metric("pairs"), 7);
  EXPECT_EQ(harness.metric("tar@0.5"), 1);
  EXPECT_FALSE(harness.metrics().contains("tar@0.1"));
  EXPECT_FALSE(harness.metrics().contains("accuracy"));
  EXPECT_THAT(harness.reports().at(0).text, HasSubstr("7 pairs, 3 of one person and 4 of two"));
}

TEST(VerificationStage, FoldsOfTheListChooseThresholds) {
  Harness harness("verification", std::make_unique<Verification>());
  Packet packet = batch({1, 3, 2, 4, 10, 20}, {1, 0, 1, 0, 1, 0});
  packet.set(field::pair_folds, torch::tensor({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, torch::kInt64));
  harness.push(packet).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  // Thresholds 3 (of 2, 4, 10, 20), 2 (of 1, 3, 10, 20) and 2.5 (of 1, 2, 3, 4).
  EXPECT_DOUBLE_EQ(harness.metric("accuracy"), (0.5 + 1 + 0.5) / 3);
  EXPECT_NEAR(harness.metric("accuracy.standard_error"), 0.5 / 3, 1e-12);
  EXPECT_THAT(harness.reports().at(1).text, HasSubstr("| 2 | 2 | 2.5 | 100.00 | 50.00 |"));
}

/// A data set with these people.
class People final : public ServedItems {
 public:
  explicit People(Names names) : names_(std::move(names)) {}
  [[nodiscard]] const Names& served_items() const override { return names_; }

 private:
  Names names_;
};

/// The error with two folds of pairs of "ann", and of "ann" and "bob", if some people are in the
/// training data.
std::string error_where_trained_on(ServedItems::Names names, std::optional<std::int64_t> fold,
                                   bool has_folds = true, bool has_items = true) {
  People people(std::move(names));
  Harness harness("verification", std::make_unique<Verification>());
  harness.refer<ServedItems>("trained_on", people);
  if (fold) harness.set("fold", *fold);
  Packet packet = batch({1, 3, 2, 4}, {1, 0, 1, 0});
  if (has_folds) {
    packet.set(field::pair_folds, torch::tensor({0, 0, 0, 0, 1, 1, 1, 1}, torch::kInt64));
  }
  if (has_items) {
    std::vector<std::string> items = packet.get(field::items);
    for (std::size_t row = 4; row < 8; ++row) items[row] = items[row] == "ann" ? "cid" : "dee";
    packet.set(field::items, items);
  } else {
    packet.set(field::items, std::vector<std::string>(8));
  }
  harness.push(std::move(packet)).finish();
  return harness.errors().empty() ? "no error" : harness.errors()[0].full_message();
}

TEST(VerificationStage, PeopleOfTheTrainingAreRefused) {
  EXPECT_EQ(error_where_trained_on({"eve"}, {}), "no error");
  EXPECT_EQ(error_where_trained_on({"ann", "bob"}, 1), "no error");
  EXPECT_THAT(error_where_trained_on({"ann", "bob"}, 0),
              HasSubstr("the pair of pairs.txt (p0) and pairs.txt:1 (p1) shows 'ann', whom "
                        "`trained_on` serves to training"));
  EXPECT_THAT(error_where_trained_on({"dee"}, 1), HasSubstr("shows 'dee'"));
  EXPECT_THAT(error_where_trained_on({"dee"}, {}), HasSubstr("report only the fold"));
  EXPECT_THAT(error_where_trained_on({"dee"}, {}, false), HasSubstr("shows 'dee'"));
  EXPECT_THAT(error_where_trained_on({"eve"}, {}, true, false), HasSubstr("has no 'item'"));
}

TEST(VerificationStage, TakesEachPairOfTwoPicturesOnce) {
  const auto error_with = [](const std::string& first, const std::string& second) {
    Packet packet = batch({1, 2, 3, 4}, {1, 0, 1, 0});
    std::vector<Origin> origins = packet.get(field::origins);
    origins[4].item = first;
    origins[5].item = second;
    packet.set(field::origins, origins);
    return error_for(std::move(packet));
  };
  EXPECT_EQ(error_with("p1", "p3"), "no error");
  EXPECT_THAT(error_with("p1", "p1"), HasSubstr("pairs.txt:4 (p1) is paired with itself"));
  EXPECT_THAT(error_with("p0", "p1"), HasSubstr("occurred before in this evaluation"));
  EXPECT_THAT(error_with("p1", "p0"), HasSubstr("occurred before in this evaluation"));
}

TEST(VerificationStage, KnowsBoxesOfOneFileByTheirIndices) {
  const auto error_with = [](std::vector<std::int64_t> indices) {
    Packet packet = batch({1, 2}, {1, 0});
    std::vector<Origin> origins = packet.get(field::origins);
    for (std::size_t row = 0; row < 4; ++row) {
      origins[row] = {origins[row].file, indices[row] + 2, "street.jpg"};
    }
    packet.set(field::origins, origins);
    packet.set(field::indices, std::move(indices));
    packet.set(::seam::field::paths, std::vector<std::filesystem::path>(4));
    return error_for(std::move(packet));
  };
  EXPECT_EQ(error_with({0, 1, 0, 2}), "no error");
  EXPECT_THAT(error_with({0, 1, 2, 2}),
              HasSubstr("pairs.txt:4 (street.jpg) is paired with itself"));
  EXPECT_THAT(error_with({0, 1, 1, 0}), HasSubstr("occurred before in this evaluation"));
}

TEST(VerificationStage, KnowsPicturesByTheirFilesBeforeTheirNames) {
  const auto error_with = [](const char* first, const char* second) {
    Packet packet = batch({1, 2}, {1, 0});
    std::vector<Origin> origins = packet.get(field::origins);
    origins[2].item = origins[3].item = "1.pgm";
    packet.set(field::origins, origins);
    packet.set(::seam::field::paths, {"a/1.pgm", "a/2.pgm", first, second});
    return error_for(std::move(packet));
  };
  EXPECT_EQ(error_with("s1/1.pgm", "s2/1.pgm"), "no error");
  EXPECT_THAT(error_with("s1/1.pgm", "s2/../s1/1.pgm"), HasSubstr("is paired with itself"));
  EXPECT_THAT(error_with("a/2.pgm", "a/1.pgm"), HasSubstr("occurred before in this evaluation"));
}

TEST(VerificationStage, AFoldOfTheListIsNotOneThatWasDealt) {
  Harness harness("verification", std::make_unique<Verification>());
  harness.set("fold", 0).push(batch({1, 2, 3, 4}, {1, 0, 1, 0})).finish();
  ASSERT_FALSE(harness.errors().empty());
  EXPECT_THAT(harness.errors()[0].what(), HasSubstr("add \"pair_fold\" to `carry`"));
}

TEST(VerificationStage, EachFoldNeedsPairsOfBothKinds) {
  Harness harness("verification", std::make_unique<Verification>());
  harness.set("folds", 3).push(batch({1, 2, 3, 4, 5}, {1, 0, 1, 0, 0})).finish();
  ASSERT_FALSE(harness.errors().empty());
  EXPECT_THAT(harness.errors()[0].what(), HasSubstr("there are 2 and 3"));
}

TEST(VerificationStage, OneFoldOfAListChoosesNoThreshold) {
  const auto error_of = [](std::int64_t folds) {
    Harness harness("verification", std::make_unique<Verification>());
    Packet packet = batch({1, 3}, {1, 0});
    packet.set(field::pair_folds, torch::zeros({4}, torch::kInt64));
    harness.set("folds", folds).push(std::move(packet)).finish();
    return harness.errors().empty() ? "no error" : harness.errors()[0].full_message();
  };
  EXPECT_THAT(error_of(10), HasSubstr("all pairs are in fold 0"));
  EXPECT_EQ(error_of(1), "no error");
}

TEST(VerificationStage, ConstantEmbeddingsAreChance) {
  Harness harness("verification", std::make_unique<Verification>());
  std::vector<std::int64_t> same;
  for (int pair = 0; pair < 40; ++pair) same.push_back(pair % 2);
  harness.push(batch(std::vector<float>(40, 1), same)).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  EXPECT_EQ(harness.metric("auc"), 0.5);
  EXPECT_EQ(harness.metric("eer"), 0.5);
  EXPECT_DOUBLE_EQ(harness.metric("accuracy"), 0.5);
}

TEST(VerificationStage, RefusesWhatIsNoPair) {
  EXPECT_EQ(error_for(batch({1, 2}, {1, 0})), "no error");

  Packet odd = batch({1, 2}, {1, 0});
  odd.set(field::embedding, torch::zeros({3, 2}));
  odd.set(field::same, torch::zeros({3}, torch::kInt64));
  odd.set(field::groups, std::vector<std::int64_t>{0, 0, 1});
  odd.set(field::items, std::vector<std::string>(3));
  odd.set(field::origins, std::vector<Origin>(3));
  EXPECT_THAT(error_for(odd), HasSubstr("3 rows, which is odd"));

  Packet differs = batch({1, 2}, {1, 0});
  differs.set(field::same, torch::tensor({1, 0, 0, 0}, torch::kInt64));
  EXPECT_THAT(error_for(differs), HasSubstr("'same' differs in the pair of"));

  Packet shifted = batch({1, 2}, {1, 0});
  shifted.set(field::groups, std::vector<std::int64_t>{0, 1, 1, 2});
  EXPECT_THAT(error_for(shifted), HasSubstr("groups 0 and 1"));

  Packet wrong = batch({1, 2}, {1, 0});
  wrong.set(field::same, torch::tensor({1, 1, 1, 1}, torch::kInt64));
  EXPECT_THAT(error_for(wrong), HasSubstr("which show 'ann' and 'bob'"));

  Packet two = batch({1, 2}, {1, 0});
  two.set(field::same, torch::tensor({2, 2, 0, 0}, torch::kInt64));
  EXPECT_THAT(error_for(two), HasSubstr("is 2; it must be 1"));
}

TEST(VerificationStage, RefusesNumbersThatAreNoDistance) {
  EXPECT_THAT(error_for(batch({1, std::nanf("")}, {1, 0})), HasSubstr("pairs.txt:3 (p3) has NaN"));
  EXPECT_THAT(error_for(batch({1, INFINITY}, {1, 0})), HasSubstr("has infinity"));
  EXPECT_THAT(error_for(batch({1, 2}, {1, 0}), "cosine"), HasSubstr("embedding of zeros"));
  EXPECT_NO_THROW(check_embedding(std::array{-1.F, 0.F}, VerificationDistance::cosine));
  EXPECT_THAT(error_for(batch({1, 2}, {1, 1})), HasSubstr("all 2 pairs are of one"));
  Packet none;
  none.set(field::embedding, torch::zeros({0, 2}));
  none.set(field::same, torch::zeros({0}, torch::kInt64));
  EXPECT_THAT(error_for(none), HasSubstr("no pair arrived"));
}

TEST(VerificationStage, WritesTheCurve) {
  const test::TemporaryFolder folder;
  Harness harness("verification", std::make_unique<Verification>());
  harness.run_directory(folder.path()).set("folds", 1);
  harness.push(batch({1, 2}, {1, 0})).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  std::ifstream in(folder.path() / "verification/verification/epoch-0000/roc.csv");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, "distance,false_accepts,true_accepts,far,tar\n,0,0,0,0\n1,0,1,0,1\n2,1,1,1,1\n");
  std::ifstream drawn(folder.path() / "pictures/verification/epoch-0000.json");
  EXPECT_THAT((std::string{std::istreambuf_iterator<char>(drawn), {}}),
              HasSubstr(R"("far":[0.0,0.0,1.0],"tar":[0.0,1.0,1.0])"));
}

TEST(VerificationStage, LeavesWhetherEachPairWasToldRight) {
  const test::TemporaryFolder folder;
  Harness harness("verification", std::make_unique<Verification>());
  harness.run_directory(folder.path()).set("folds", 1).set("margin", 2.0);
  harness.push(batch({1, 3, 1.5F}, {1, 0, 0})).push(batch({2.5F}, {1}, 10)).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  const std::filesystem::directory_iterator files(folder.path() / "outcomes");
  std::ifstream in(files->path());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text,
            "epoch,observation,cluster,accuracy_at_margin\n"
            "0,pairs.txt (p0) and pairs.txt:1 (p1),ann,1\n"
            "0,pairs.txt:2 (p2) and pairs.txt:3 (p3),ann,1\n"
            "0,pairs.txt:4 (p4) and pairs.txt:5 (p5),ann,0\n"
            "0,pairs.txt (p10) and pairs.txt:1 (p11),ann,0\n");
}

TEST(VerificationStage, WithoutMarginAndFoldsNothingIsRightOrWrong) {
  const test::TemporaryFolder folder;
  Harness harness("verification", std::make_unique<Verification>());
  harness.run_directory(folder.path()).set("folds", 1);
  harness.push(batch({1, 2}, {1, 0})).finish();
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "outcomes"));
}

}  // namespace seam::stages::verification_test
