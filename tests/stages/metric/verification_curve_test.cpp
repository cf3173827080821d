#include "stages/metric/verification_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <seam/error.hpp>
#include <set>
#include <string>
#include <vector>

#include "stages/metric/verification_report.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::verification_curve_test {

ScoredPair same(double distance, std::int64_t fold = 0) {
  return {distance, true, fold};
}
ScoredPair other(double distance, std::int64_t fold = 0) {
  return {distance, false, fold};
}

/// By definition: every pair of pairs, every threshold, in quadratic time.
namespace slow {

double area(const std::vector<ScoredPair>& pairs) {
  double won = 0;
  double of = 0;
  for (const ScoredPair& a : pairs) {
    for (const ScoredPair& b : pairs) {
      if (!a.same || b.same) continue;
      ++of;
      won += a.distance < b.distance ? 1 : a.distance == b.distance ? 0.5 : 0;
    }
  }
  return won / of;
}

double share(const std::vector<ScoredPair>& pairs, bool kind, double threshold) {
  double accepted = 0;
  double of = 0;
  for (const ScoredPair& pair : pairs) {
    if (pair.same != kind) continue;
    ++of;
    accepted += pair.distance <= threshold ? 1 : 0;
  }
  return accepted / of;
}

std::set<double> thresholds(const std::vector<ScoredPair>& pairs) {
  std::set<double> all{-1};
  for (const ScoredPair& pair : pairs) all.insert(pair.distance);
  return all;
}

double tar(const std::vector<ScoredPair>& pairs, double far) {
  double best = 0;
  for (const double threshold : thresholds(pairs)) {
    if (share(pairs, false, threshold) <= far + 1e-12) {
      best = std::max(best, share(pairs, true, threshold));
    }
  }
  return best;
}

/// By bisection along the broken line of the curve.
double eer(const std::vector<ScoredPair>& pairs) {
  std::vector<std::pair<double, double>> line;
  for (const double threshold : thresholds(pairs)) {
    line.emplace_back(share(pairs, false, threshold), share(pairs, true, threshold));
  }
  const auto at = [&](double place) {  // 0 to 1 along all segments
    const double along = place * static_cast<double>(line.size() - 1);
    const auto left = std::min(static_cast<std::size_t>(along), line.size() - 2);
    const double part = along - static_cast<double>(left);
    return std::pair(line[left].first * (1 - part) + line[left + 1].first * part,
                     line[left].second * (1 - part) + line[left + 1].second * part);
  };
  double low = 0;
  double high = 1;
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    const auto [far, tar] = at(middle);
    (far < 1 - tar ? low : high) = middle;
  }
  return at(high).first;
}

}  // namespace slow

std::vector<ScoredPair> random_pairs(unsigned seed, int count, int distances) {
  std::mt19937 random(seed);
  std::vector<ScoredPair> pairs{same(1), other(1)};
  for (int i = 2; i < count; ++i) {
    const bool kind = random() % 3 == 0;
    pairs.push_back({static_cast<double>(random() % static_cast<unsigned>(distances)) +
                         (kind ? 0 : distances / 4),
                     kind, static_cast<std::int64_t>(random() % 5)});
  }
  return pairs;
}

TEST(VerificationCurve, SixPairsByHand) {
  // distance   1 same   2 other   3 same   4 same   5 other   6 other
  const std::vector<ScoredPair> pairs{same(1), other(2), same(3), same(4), other(5), other(6)};
  const Roc roc = roc_of(pairs);
  ASSERT_EQ(roc.points.size(), 7U);
  EXPECT_DOUBLE_EQ(area_under(roc), 7.0 / 9);  // of 9 comparisons, 2 < 3 and 2 < 4 are lost
  EXPECT_DOUBLE_EQ(equal_error_rate(roc), 1.0 / 3);
  EXPECT_EQ(tar_at_far(roc, 0.34), 1);
  EXPECT_EQ(tar_at_far(roc, 0.33), std::nullopt);  // not one of three is within it
  const Threshold best = best_threshold(roc);
  EXPECT_DOUBLE_EQ(best.distance, 4.5);
  EXPECT_DOUBLE_EQ(best.accuracy, 5.0 / 6);
  EXPECT_DOUBLE_EQ(accuracy_at(pairs, 4.5), 5.0 / 6);
  EXPECT_DOUBLE_EQ(accuracy_at(pairs, 3), 4.0 / 6);  // distances up to the threshold are accepted
}

TEST(VerificationCurve, EqualDistancesAreNeverParted) {
  const std::vector<ScoredPair> constant{same(2), other(2), same(2), other(2)};
  const Roc roc = roc_of(constant);
  EXPECT_EQ(roc.points.size(), 2U);
  EXPECT_EQ(area_under(roc), 0.5);
  EXPECT_EQ(equal_error_rate(roc), 0.5);
  EXPECT_EQ(best_threshold(roc).accuracy, 0.5);
  EXPECT_EQ(tar_at_far(roc, 0.5), 0);  // one of the two others cannot be accepted alone
}

TEST(VerificationCurve, SeparatedPairsAreAllRight) {
  const Roc roc = roc_of({other(3), same(1), same(1), other(4)});
  EXPECT_EQ(area_under(roc), 1);
  EXPECT_EQ(equal_error_rate(roc), 0);
  EXPECT_EQ(best_threshold(roc).distance, 2);
  EXPECT_EQ(best_threshold(roc).accuracy, 1);
}

TEST(VerificationCurve, AThresholdBetweenNeighbouringNumbersIsTheLower) {
  const double next = std::nextafter(1.0, 2.0);
  EXPECT_EQ(best_threshold(roc_of({same(1), other(next)})).distance, 1);
}

TEST(VerificationCurve, AgreesWithDefinitions) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<ScoredPair> pairs =
        random_pairs(seed, 5 + static_cast<int>(seed) * 3, seed % 2 == 0 ? 6 : 1000);
    const Roc roc = roc_of(pairs);
    EXPECT_NEAR(area_under(roc), slow::area(pairs), 1e-12) << seed;
    EXPECT_NEAR(equal_error_rate(roc), slow::eer(pairs), 1e-9) << seed;
    for (const double far : {0.5, 0.1}) {
      const auto tar = tar_at_far(roc, far);
      if (tar) {
        EXPECT_NEAR(*tar, slow::tar(pairs, far), 1e-12);
      }
    }
    double best = 0;
    for (const double threshold : slow::thresholds(pairs)) {
      best = std::max(best, accuracy_at(pairs, threshold));
    }
    EXPECT_DOUBLE_EQ(best_threshold(roc).accuracy, best);
    EXPECT_DOUBLE_EQ(accuracy_at(pairs, best_threshold(roc).distance), best);
  }
}

TEST(VerificationCurve, CornersAreTheSameCurve) {
  const Roc roc = roc_of(random_pairs(3, 400, 1000));
  Roc thinned = roc;
  thinned.points = corners(roc);
  EXPECT_LT(thinned.points.size(), roc.points.size());
  EXPECT_DOUBLE_EQ(area_under(thinned), area_under(roc));
  EXPECT_DOUBLE_EQ(equal_error_rate(thinned), equal_error_rate(roc));
}

TEST(VerificationCurve, OneKindOfPairsOrNanIsRefused) {
  EXPECT_REFUSED(static_cast<void>(roc_of({})), Fault::data, "no pair");
  EXPECT_REFUSED(static_cast<void>(roc_of({same(1), same(2)})), Fault::data,
                 "all 2 pairs are of one");
  EXPECT_REFUSED(static_cast<void>(roc_of({other(1)})), Fault::data, "of two");
  EXPECT_REFUSED(static_cast<void>(roc_of({other(1), same(std::nan(""))})), Fault::data, "NaN");
}

TEST(CrossValidation, NineFoldsChooseTheTenthIsMeasured) {
  // Fold 2 alone would select 15; the others select 2.5, at which its accuracy is a half.
  const std::vector<ScoredPair> pairs{same(1, 0),  other(3, 0), same(2, 1),
                                      other(4, 1), same(10, 2), other(20, 2)};
  const std::vector<FoldAccuracy> folds = cross_validated(pairs);
  ASSERT_EQ(folds.size(), 3U);
  EXPECT_EQ(folds[2].threshold.distance, 2.5);
  EXPECT_EQ(folds[2].threshold.accuracy, 1);
  EXPECT_EQ(folds[2].accuracy, 0.5);
  const std::vector<FoldAccuracy> one = cross_validated(pairs, 2);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].accuracy, 0.5);
  EXPECT_FALSE(mean_of(one).standard_error);
}

TEST(CrossValidation, MeanAndStandardError) {
  std::vector<FoldAccuracy> folds(4);
  folds[0].accuracy = 0.5;
  folds[1].accuracy = 0.7;
  folds[2].accuracy = 0.6;
  folds[3].accuracy = 0.6;
  EXPECT_DOUBLE_EQ(mean_of(folds).mean, 0.6);
  EXPECT_NEAR(*mean_of(folds).standard_error, std::sqrt(0.02 / 3 / 4), 1e-15);
}

TEST(CrossValidation, RefusesFoldsThatCannotChoose) {
  const std::vector<ScoredPair> one_fold{same(1), other(2)};
  const std::vector<ScoredPair> two_folds{same(1), other(2, 1)};
  EXPECT_REFUSED(static_cast<void>(cross_validated(one_fold)), Fault::data,
                 "all pairs are in one fold");
  try {
    static_cast<void>(cross_validated(two_folds));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& refused) {
    EXPECT_THAT(refused.full_message(), HasSubstr("threshold of fold 0"));
  }
  EXPECT_REFUSED(static_cast<void>(cross_validated(two_folds, 7)), Fault::configuration,
                 "no pair is in fold 7");
}

TEST(CrossValidation, DealsEachKindInTurn) {
  std::vector<ScoredPair> pairs{same(0), same(0), other(0), same(0), other(0), other(0)};
  deal_folds(pairs, 2);
  EXPECT_EQ(pairs[0].fold, 0);
  EXPECT_EQ(pairs[1].fold, 1);
  EXPECT_EQ(pairs[2].fold, 0);
  EXPECT_EQ(pairs[3].fold, 0);
  EXPECT_EQ(pairs[4].fold, 1);
  EXPECT_EQ(pairs[5].fold, 0);
}

TEST(PairDistance, ByHand) {
  const std::vector<float> a{3, 0};
  const std::vector<float> b{0, 4};
  const auto of = [&](VerificationDistance distance) {
    return shown_distance(ranked_distance(a, b, distance), distance);
  };
  EXPECT_DOUBLE_EQ(of(VerificationDistance::euclidean), 5);
  EXPECT_DOUBLE_EQ(of(VerificationDistance::cosine), 1);
  EXPECT_DOUBLE_EQ(of(VerificationDistance::exp_manhattan), 1 - std::exp(-7.0));
  EXPECT_EQ(ranked_distance(a, a, VerificationDistance::cosine), 0);
}

TEST(PairDistance, FarPairsAreNotEqualByRounding) {
  const std::vector<float> zero{0};
  const std::vector<float> far{100};
  const std::vector<float> further{101};
  const auto distance = VerificationDistance::exp_manhattan;
  EXPECT_LT(ranked_distance(zero, far, distance), ranked_distance(zero, further, distance));
  EXPECT_NEAR(shown_distance(ranked_margin(0.4, distance), distance), 0.4, 1e-15);
  EXPECT_EQ(ranked_margin(1, distance), std::numeric_limits<double>::infinity());
}

TEST(VerificationReport, OneFoldIsMeasuredAlone) {
  VerificationSettings settings;
  settings.fold = 1;
  settings.margin = 2.5;
  const VerificationResult result =
      verify({same(1, 0), other(2, 0), same(3, 1), other(4, 1)}, settings);
  EXPECT_EQ(result.roc.same, 1);
  EXPECT_EQ(result.auc, 1);
  EXPECT_EQ(result.accuracy.mean, 0.5);  // at 1.5, that of fold 0
  EXPECT_EQ(result.at_margin, 0.5);
  EXPECT_TRUE(result.tar.empty());
  const std::string text = verification_table(result, settings, "lfw/alignment=none");
  EXPECT_THAT(text, HasSubstr("| accuracy on fold 1, threshold of the other folds | 50.00 |"));
  EXPECT_THAT(text, HasSubstr("Protocol: `lfw/alignment=none`."));
  EXPECT_THAT(text, HasSubstr("A FAR is omitted"));
}

}  // namespace seam::stages::verification_curve_test
