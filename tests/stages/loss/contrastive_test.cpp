#include "stages/loss/contrastive.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stages/same.hpp"
#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::contrastive_test {

using seam::testing::Harness;
using Labels = std::vector<std::int64_t>;

/// Pairs at the distances 0.3, 0.1 and 0.6.
Packet batch(const Labels& same, const Labels& groups = {}) {
  Packet packet;
  packet.set(
      field::embedding,
      torch::tensor(
          {{0.0F, 1.0F}, {0.0F, 1.3F}, {2.0F, 0.0F}, {2.1F, 0.0F}, {0.0F, 0.0F}, {0.6F, 0.0F}})
          .narrow(0, 0, static_cast<std::int64_t>(same.size())));
  packet.set(field::same, torch::tensor(same, torch::kInt64));
  if (!groups.empty()) packet.set(field::groups, groups);
  return packet;
}

const auto conformance = seam::testing::conformance<Contrastive>({
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch({1, 1, 0, 0, 0, 0}), batch({0, 0, 1, 1})};
        },
    .refused = {{{"margin", 0.0}}, {{"distance", std::string("exp_manhattan")}, {"margin", 1.0}}},
});

TEST(Contrastive, IsTheMeanOverPairsWithTheirDistances) {
  auto measured = test::metrics_of<Contrastive>(batch({1, 1, 0, 0, 0, 0}, {4, 4, 2, 2, 7, 7}));
  EXPECT_NEAR(measured["loss"], (0.09 + 0.09 + 0) / 3, 1e-5);
  EXPECT_NEAR(measured["matching_distance"], 0.3, 1e-5);
  EXPECT_NEAR(measured["non_matching_distance"], 0.35, 1e-5);
  EXPECT_NEAR(measured["accuracy"], 2.0 / 3, 1e-6);  // 0.1 is below the margin
  EXPECT_NEAR(measured["active"], 2.0 / 3, 1e-6);
}

TEST(Contrastive, InEvaluationDistancesAreTheMeanOverPairsOfAllBatches) {
  const auto distance = [](const std::vector<std::int64_t>& sizes) {
    const Packet all = batch({1, 1, 0, 0, 1, 1});
    Harness harness("loss", std::make_unique<Contrastive>());
    std::int64_t first = 0;
    for (const std::int64_t size : sizes) {
      Packet part;
      part.set(field::embedding, all.get(field::embedding).narrow(0, first, size));
      part.set(field::same, all.get(field::same).narrow(0, first, size));
      harness.push(std::move(part));
      first += size;
    }
    harness.finish();
    EXPECT_TRUE(harness.errors().empty());
    return harness.metric("matching_distance");
  };
  EXPECT_NEAR(distance({6}), 0.45, 1e-5);
  EXPECT_NEAR(distance({4, 2}), 0.45, 1e-5) << "one matching pair in each batch";
  EXPECT_NEAR(distance({2, 2, 2}), 0.45, 1e-5);
}

TEST(Contrastive, InTheFormOfEquation4AccuracyComparesTheSquareWithTheMargin) {
  auto measured = test::metrics_of<Contrastive>(
      batch({1, 1, 0, 0, 0, 0}), {{"form", std::string("equation4")}, {"margin", 0.2}});
  EXPECT_NEAR(measured["loss"], (0.045 + 0.5 * (0.2 - 0.01) + 0) / 3, 1e-5);
  EXPECT_NEAR(measured["accuracy"], 2.0 / 3, 1e-6);
}

TEST(Contrastive, RefusesWhatIsNoPairByName) {
  EXPECT_THAT(test::complaint<Contrastive>(batch({1, 1, 0})),
              HasSubstr("3 rows, which are not pairs"));
  EXPECT_THAT(test::complaint<Contrastive>(batch({1, 1, 0, 1})),
              HasSubstr("`same` differs within the pair of rows 2 and 3: 0 and 1"));
  EXPECT_THAT(test::complaint<Contrastive>(batch({1, 1, 2, 2})), HasSubstr("`same` of row 2 is 2"));
  EXPECT_THAT(test::complaint<Contrastive>(batch({-1, -1})), HasSubstr("`same` of row 0 is -1"));
  EXPECT_THAT(test::complaint<Contrastive>(batch({})), HasSubstr("no rows"));
  // An image of group 1 and one of group 2 are missing, which the labels alone do not show.
  EXPECT_THAT(test::complaint<Contrastive>(batch({1, 1, 0, 0}, {1, 2, 3, 3})),
              HasSubstr("rows 0 and 1 should be a pair, but belong to groups 1 and 2"));
}

}  // namespace seam::stages::contrastive_test
