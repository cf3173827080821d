#include "stages/metric/verification_report.hpp"

#include <memory>
#include <string>
#include <vector>

#include "stages/picture_paths.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::verification_report_test {

using ::testing::Optional;

std::vector<std::string> clusters_of(const std::vector<PairNames>& names) {
  std::vector<ScoredPair> pairs(names.size());
  for (std::size_t at = 0; at < pairs.size(); ++at) pairs[at].same = at % 2 == 0;
  VerificationSettings settings;
  settings.margin = 1;
  const auto all = outcomes_of(pairs, names, verify(pairs, settings), settings);
  std::vector<std::string> clusters;
  for (const Outcome& outcome : all.outcomes) clusters.push_back(outcome.cluster);
  return clusters;
}

double mean_of_column(const PairOutcomes& all, std::size_t column) {
  double sum = 0;
  for (const Outcome& outcome : all.outcomes) sum += outcome.values.at(column).value();
  return sum / static_cast<double>(all.outcomes.size());
}

TEST(VerificationOutcomes, PairsThatShareAPersonAreOneCluster) {
  EXPECT_THAT(clusters_of({{"1", "bob", "ann"}, {"2", "dan", "dan"}, {"3", "eve", "bob"}}),
              ElementsAre("ann", "dan", "ann"));
}

TEST(VerificationOutcomes, ALaterPairMayConnectTwoClusters) {
  EXPECT_THAT(
      clusters_of(
          {{"1", "d", "c"}, {"2", "b", "a"}, {"3", "f", "e"}, {"4", "d", "b"}, {"5", "d", "d"}}),
      ElementsAre("a", "a", "e", "a", "a"));
}

TEST(VerificationOutcomes, ALongChainIsOneCluster) {
  std::vector<PairNames> names;
  for (int at = 9999; at > 1000; --at) {
    names.push_back({std::to_string(at), std::to_string(at), std::to_string(at - 1)});
  }
  EXPECT_THAT(clusters_of(names), ::testing::Each(std::string("1000")));
}

TEST(VerificationOutcomes, APairOfUnknownPeopleIsItsOwnCluster) {
  EXPECT_THAT(clusters_of({{"1", "", ""}, {"2", "ann", ""}, {"3", "ann", "bob"}}),
              ElementsAre("1", "2", "ann"));
}

/// Folds of 4, 2 and 2 pairs; thresholds 10, 3 and 3.
std::vector<ScoredPair> unequal_folds() {
  return {{1, true, 0}, {3, false, 0},  {2, true, 0},  {4, false, 0},
          {2, true, 1}, {20, false, 1}, {10, true, 2}, {30, false, 2}};
}

std::vector<PairNames> names_of(std::size_t pairs) {
  std::vector<PairNames> names;
  for (std::size_t at = 0; at < pairs; ++at) names.push_back({std::to_string(at), "ann", "bob"});
  return names;
}

TEST(VerificationOutcomes, TheirMeanIsTheMetric) {
  const std::vector<ScoredPair> pairs = unequal_folds();
  VerificationSettings settings;
  settings.margin = 3;
  const VerificationResult result = verify(pairs, settings);
  const PairOutcomes all = outcomes_of(pairs, names_of(pairs.size()), result, settings);
  EXPECT_THAT(all.metrics, ElementsAre("accuracy", "accuracy_at_margin"));
  ASSERT_EQ(all.outcomes.size(), 8);
  EXPECT_NEAR(mean_of_column(all, 0), result.accuracy.mean, 1e-12);
  EXPECT_NEAR(mean_of_column(all, 1), *result.at_margin, 1e-12);
  // With three folds and eight pairs, a correct pair counts 8 / (3 * 4) or 8 / (3 * 2).
  EXPECT_THAT(all.outcomes[0].values[0], Optional(8.0 / 12));
  EXPECT_THAT(all.outcomes[5].values[0], Optional(8.0 / 6));
  EXPECT_THAT(all.outcomes[6].values[0], Optional(0.0));
}

TEST(VerificationOutcomes, OfOneFoldAreItsPairsAlone) {
  const std::vector<ScoredPair> pairs = unequal_folds();
  VerificationSettings settings;
  settings.fold = 2;
  const VerificationResult result = verify(pairs, settings);
  const PairOutcomes all = outcomes_of(pairs, names_of(pairs.size()), result, settings);
  ASSERT_EQ(all.outcomes.size(), 2);
  EXPECT_EQ(all.outcomes[0].observation, "6");
  EXPECT_THAT(all.outcomes[0].values, ElementsAre(Optional(0.0)));
  EXPECT_THAT(all.outcomes[1].values, ElementsAre(Optional(1.0)));
}

TEST(VerificationOutcomes, PeopleWithoutNamesAreKnownByTheirPictures) {
  const auto list = std::make_shared<std::string>("/data/pairs.txt");
  Packet packet;
  packet.set(field::origins, {{list, 7, "a.jpg"}, {list, 7, "b.jpg"}});
  PairNames names = pair_names(packet, 0);
  EXPECT_EQ(names.observation, "pairs.txt:7 (a.jpg) and pairs.txt:7 (b.jpg)");
  EXPECT_EQ(names.first, "a.jpg");
  packet.set(field::items, {"ann", "bob"});
  names = pair_names(packet, 0);
  EXPECT_EQ(names.first, "ann");
  EXPECT_EQ(names.second, "bob");
}

TEST(VerificationOutcomes, APairHasNoNameWhereAPictureHasNone) {
  Packet packet;
  packet.set(field::origins, {{nullptr, 0, "a.jpg"}, {nullptr, 0, ""}});
  EXPECT_EQ(pair_names(packet, 0).observation, "");
}

}  // namespace seam::stages::verification_report_test
