#include "pipeline/experiments/paired.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "pipeline/experiments/comparison_text.hpp"
#include "pipeline/experiments/outcomes.hpp"
#include "seam/error.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::paired_test {

using seam::test::TemporaryFolder;
using ::testing::Pair;

const std::string head = "epoch,observation,cluster,r@1\n";

class OutcomesTest : public ::testing::Test {
 protected:
  Outcomes read(const std::string& text, double value = 0.5, std::int64_t epoch = 3) const {
    return read_outcomes(folder_.write("o.csv", text), {"r@1", value, epoch});
  }
  std::string complaint(const std::string& text, double value = 0.5) const {
    try {
      static_cast<void>(read(text, value));
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::data);
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
};

TEST_F(OutcomesTest, AreTheColumnOfTheMetric) {
  const auto found = read(
      "epoch,observation,cluster,mrr,r@1\r\n"
      "3,\"a, \"\"b\"\"\nc\",i,0.1,1\r\n"
      "3,d,j,0.2,\n"
      "3,e,i,,0\n");
  EXPECT_THAT(found,
              ElementsAre(Pair("a, \"b\"\nc", Outcome{"i", 1}),
                          Pair("d", Outcome{"j", std::nullopt}), Pair("e", Outcome{"i", 0})));
}

TEST_F(OutcomesTest, OfAnotherEvaluationAreRefused) {
  EXPECT_THAT(complaint(head + "2,a,i,1\n2,b,i,0\n"),
              AllOf(HasSubstr("o.csv', line 2: it is from epoch 3"), HasSubstr("is from epoch 4")));
  EXPECT_THAT(complaint(head + "3,a,i,1\n2,b,i,0\n"), HasSubstr("line 3: it is from epoch 3"));
  EXPECT_THAT(complaint(head + "3,a,i,1\n3,b,i,1\n"),
              HasSubstr("the mean of its column r@1 is 1, but the run recorded 0.5"));
  EXPECT_EQ(complaint(head + "3,a,i,0.1\n3,b,i,0.2\n", 0.15000000000000002), "accepted");
}

TEST_F(OutcomesTest, WithWhatIsMissingDoubledOrNoNumberAreRefused) {
  EXPECT_THAT(complaint(""), HasSubstr("do not begin with epoch, observation, cluster"));
  EXPECT_THAT(complaint("observation,epoch,cluster,r@1\n"), HasSubstr("do not begin with"));
  EXPECT_THAT(complaint("epoch,observation,cluster,mrr,r@5\n"),
              HasSubstr("it has no column 'r@1'; its metric columns are: mrr, r@5"));
  EXPECT_THAT(complaint(head), HasSubstr("no observation has a value of r@1"));
  EXPECT_THAT(complaint(head + "3,a,i,\n"), HasSubstr("no observation has a value of r@1"));
  EXPECT_THAT(complaint(head + "3,a,i,1\n3,a,i,0\n"),
              HasSubstr("line 3: observation 'a' occurs twice"));
  EXPECT_THAT(complaint(head + "3,,i,1\n"), HasSubstr("an observation has no name"));
  EXPECT_THAT(complaint(head + "3,a,i\n"), HasSubstr("it has 3 values instead of 4"));
  for (const char* value : {"nan", "inf", "1x", " 1", "+1"}) {
    EXPECT_THAT(complaint(head + "3,a,i," + value + "\n"), HasSubstr("is not a finite number"));
  }
  EXPECT_THAT(complaint(head + "x,a,i,1\n"), HasSubstr("'x' is not an epoch"));
  EXPECT_THAT(complaint(head + "3,a,i,1"), HasSubstr("the last line is incomplete"));
  EXPECT_THAT(complaint(head + "3,\"a,i,1\n"), HasSubstr("a quote is not closed"));
  EXPECT_THAT(complaint(head + "3,\"a\"b,i,1\n"), HasSubstr("text follows a quoted value"));
  EXPECT_REFUSED(static_cast<void>(read_outcomes(folder_.path() / "none.csv", {"r@1", 1, 0})),
                 Fault::data, "none.csv', which should hold the score of each observation");
}

class PairedTest : public ::testing::Test {
 protected:
  /// A run with epoch 0 and a file with these lines, given without the epoch.
  GroupMember member(const std::string& name, const std::string& seed, double value,
                     const std::vector<std::string>& lines, const Parameters& fold = {}) const {
    std::string text = head;
    for (const std::string& line : lines) text += "0," + line + "\n";
    GroupMember member{name, fold, value, 0, folder_.write(name + ".csv", text), {}};
    member.replicate["pipeline.seed"] = seed;
    return member;
  }
  /// The first group is the best.
  static Ranking ranking(const std::vector<std::vector<GroupMember>>& groups) {
    Ranking ranking;
    for (const auto& members : groups) {
      Group& group = ranking.groups.emplace_back();
      group.members = members;
      group.mean = members.front().value;
    }
    return ranking;
  }
  static DifferenceToBest difference(Ranking of) {
    pair_observations(of, "recall.r@1");
    return of.groups.at(1).difference.value();
  }
  static std::string complaint(Ranking of) {
    try {
      pair_observations(of, "recall.r@1");
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
};

TEST_F(PairedTest, TheDifferenceIsThatOfEachObservation) {
  // By hand: -1, 0, +1, -1 of two items: mean -1/4. Samples of two items: i i (-1/2), i j, j i
  // (-1/4), j j (0), each a quarter of the thousand: 2.5 % are cut, so the ends are in the
  // interval.
  const DifferenceToBest found = difference(ranking({
      {member("best", "1", 0.75, {"a,i,1", "b,i,1", "c,j,0", "d,j,1"})},
      {member("other", "1", 0.5, {"d,j,0", "c,j,1", "b,i,1", "a,i,0"})},
  }));
  EXPECT_EQ(found.pairs, 4U);
  EXPECT_EQ(found.clusters, 2U);
  EXPECT_EQ(found.mean, -0.25);
  EXPECT_EQ(found.bounds.value().low, -0.5);
  EXPECT_EQ(found.bounds.value().high, 0);
}

TEST_F(PairedTest, TheOrderOfFilesIsOfNoConsequence) {
  std::vector<std::string> best;
  std::vector<std::string> lines;
  double sum = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string place = std::to_string(i) + "," + std::to_string(i * 7 % 11) + ",";
    best.push_back(place + "1");
    lines.push_back(place + std::to_string(i % 3 == 0 ? 0 : 1));
    sum += i % 3 == 0 ? 0 : 1;
  }
  const auto of = [&] {
    return difference(
        ranking({{member("best", "1", 1, best)}, {member("b", "1", sum / 50, lines)}}));
  };
  const DifferenceToBest in_order = of();
  std::reverse(lines.begin(), lines.end());
  std::rotate(best.begin(), best.begin() + 17, best.end());
  const DifferenceToBest turned = of();
  EXPECT_EQ(in_order.bounds.value().low, turned.bounds.value().low);
  EXPECT_EQ(in_order.bounds.value().high, turned.bounds.value().high);
  EXPECT_LT(turned.bounds.value().low, turned.mean);
  EXPECT_LT(turned.mean, turned.bounds.value().high);
}

TEST_F(PairedTest, AConstantDifferenceIsSure) {
  const DifferenceToBest found = difference(ranking({
      {member("best", "1", 0.75, {"a,i,1", "b,i,0.5", "c,j,1", "d,k,0.5"})},
      {member("other", "1", 0.25, {"a,i,0.5", "b,i,0", "c,j,0.5", "d,k,0"})},
  }));
  EXPECT_EQ(found.mean, -0.5);
  EXPECT_EQ(found.bounds.value().low, -0.5);
  EXPECT_EQ(found.bounds.value().high, -0.5);
}

TEST_F(PairedTest, EachObservationIsTheMeanOverSeeds) {
  const DifferenceToBest found = difference(ranking({
      {member("best1", "1", 1, {"a,i,1", "b,j,1"}), member("best2", "2", 0.5, {"a,i,0", "b,j,1"})},
      {member("other", "3", 0.5, {"a,i,1", "b,j,0"})},
  }));
  // a: 1 - 1/2, b: 0 - 1.
  EXPECT_EQ(found.mean, -0.25);
  EXPECT_EQ(found.bounds.value().low, -1);
  EXPECT_EQ(found.bounds.value().high, 0.5);
}

TEST_F(PairedTest, FoldsMeasureDifferentObservations) {
  const Parameters first{{"stage.items.fold", "0"}};
  const Parameters second{{"stage.items.fold", "1"}};
  const Ranking folds = ranking({
      {member("b0", "1", 1, {"a,i,1"}, first), member("b1", "1", 1, {"b,j,1"}, second)},
      {member("o0", "1", 0, {"a,i,0"}, first), member("o1", "1", 1, {"b,j,1"}, second)},
  });
  EXPECT_EQ(difference(folds).mean, -0.5);
  EXPECT_EQ(difference(folds).pairs, 2U);
  EXPECT_THAT(complaint(ranking({
                  {member("b0", "1", 1, {"a,i,1"}, first),
                   member("b1", "1", 1, {"a,i,1", "b,j,1"}, second)},
                  {member("o0", "1", 1, {"a,i,1"}, first)},
              })),
              HasSubstr("both measured 'a', but folds must measure either all the same"));
}

TEST_F(PairedTest, TrainingFoldsThatMeasureOneListAreAveraged) {
  const Parameters first{{"stage.items.leave_out_fold", "0"}};
  const Parameters second{{"stage.items.leave_out_fold", "1"}};
  const Ranking folds = ranking({
      {member("b0", "1", 1, {"a,i,1", "b,j,1"}, first),
       member("b1", "1", 1, {"a,i,1", "b,j,1"}, second),
       member("b2", "2", 1, {"a,i,1", "b,j,1"}, second)},
      {member("o0", "1", 0.5, {"a,i,0", "b,j,1"}, first),
       member("o1", "1", 1, {"a,i,1", "b,j,1"}, second),
       member("o2", "2", 0, {"a,i,0", "b,j,0"}, second)},
  });
  // By fold, a: 0 and 0.5, b: 1 and 0.5; their means 0.25 and 0.75.
  EXPECT_EQ(difference(folds).mean, -0.5);
  EXPECT_EQ(difference(folds).pairs, 2U);
}

TEST_F(PairedTest, OneClusterHasNoInterval) {
  const DifferenceToBest found = difference(ranking({
      {member("best", "1", 1, {"a,i,1", "b,i,1"})},
      {member("other", "1", 0.5, {"a,i,1", "b,i,0"})},
  }));
  EXPECT_EQ(found.mean, -0.5);
  EXPECT_FALSE(found.bounds);
}

TEST_F(PairedTest, WhatCountsInNoMeanIsNotPaired) {
  const DifferenceToBest found = difference(ranking({
      {member("best", "1", 1, {"a,i,1", "b,j,", "c,k,1"})},
      {member("other", "1", 0.5, {"a,i,1", "b,j,", "c,k,0"})},
  }));
  EXPECT_EQ(found.pairs, 2U);
  EXPECT_EQ(found.clusters, 2U);
  EXPECT_EQ(found.mean, -0.5);
}

TEST_F(PairedTest, OtherObservationsAreRefusedByName) {
  const auto refused = [this](const std::vector<std::string>& lines) {
    return complaint(
        ranking({{member("best", "1", 1, {"a,i,1", "b,j,1"})}, {member("other", "1", 1, lines)}}));
  };
  EXPECT_EQ(refused({"a,i,1", "b,j,1"}), "accepted");
  EXPECT_THAT(refused({"a,i,1"}),
              HasSubstr("'best' and 'other' cannot be paired: only 'best' measured 'b'"));
  EXPECT_THAT(refused({"a,i,1", "b,j,1", "c,j,1"}), HasSubstr("only 'other' measured 'c'"));
  EXPECT_THAT(refused({"a,i,1", "c,j,1"}), HasSubstr("only 'best' measured 'b'"));
  EXPECT_THAT(refused({"A,i,1", "b,j,1"}), HasSubstr("only 'other' measured 'A'"));
  EXPECT_THAT(refused({"a,i,1", "b,i,1"}),
              HasSubstr("'b' belongs to 'j' in one and to 'i' in the other"));
  EXPECT_THAT(refused({"a,i,1", "b,j,"}), HasSubstr("'b' counts in the mean of only 'best'"));
}

TEST_F(PairedTest, AGroupWithoutAMeanIsNotPaired) {
  Ranking with_nan = ranking({
      {member("best", "1", 1, {"a,i,1"})},
      {member("other", "1", std::numeric_limits<double>::quiet_NaN(), {"a,i,1"})},
  });
  pair_observations(with_nan, "recall.r@1");
  EXPECT_FALSE(with_nan.groups[1].difference);
}

TEST_F(PairedTest, TheTextSaysOfWhatTheIntervalIs) {
  Comparison comparison;
  comparison.metric = "recall.r@1";
  comparison.pairing = Pairing::observations;
  comparison.biased = {"other"};
  comparison.rankings = {ranking({
      {member("best", "1", 0.75, {"a,i,1", "b,i,1", "c,j,0", "d,j,1"})},
      {member("other", "1", 0.5, {"d,j,0", "c,j,1", "b,i,1", "a,i,0"})},
  })};
  pair_observations(comparison.rankings[0], comparison.metric);
  EXPECT_THAT(to_text(comparison, 80),
              AllOf(HasSubstr("-0.2500  [-0.5000, +0.0000]"),
                    HasSubstr("\npaired on 4 observations in 2 clusters\n"),
                    HasSubstr("95 % bootstrap interval over clusters"),
                    HasSubstr("so their values are biased upwards:\n  other\n")));
  EXPECT_THAT(to_json(comparison),
              AllOf(HasSubstr(R"("paired_by":"observation")"),
                    HasSubstr(R"("pairs":4,"low":-0.5,"high":0.0,"clusters":2)"),
                    HasSubstr(R"("biased_upwards":["other"])")));
  EXPECT_THAT(to_csv(comparison),
              AllOf(HasSubstr("low,high,pairs,clusters,epoch,biased_upwards\r\n"),
                    HasSubstr("-0.25,-0.5,0,4,2,last,true\r\n")));
  comparison.which = WhichEpoch::best;
  EXPECT_THAT(to_text(comparison, 80),
              HasSubstr("the best epoch was selected on the evaluation data"));
}

}  // namespace seam::host::paired_test
