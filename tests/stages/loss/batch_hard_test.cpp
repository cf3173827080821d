#include "stages/loss/batch_hard.hpp"

#include <torch/nn/functional/activation.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::batch_hard_test {

using test::Labels;

std::vector<Packet> batches() {
  return test::labelled_batches({"a", "b", "a", "b", "a"});
}

const auto conformance = seam::testing::conformance<BatchHard>({
    .packets = [](seam::testing::Harness&) { return batches(); },
    .refused = {{{"form", std::string("soft_plus")}, {"margin", 0.3}}},
});

const auto soft_conformance = seam::testing::conformance<BatchHard>({
    .name = "soft",
    .parameters = {{"form", std::string("soft_plus")},
                   {"distance", std::string("squared")},
                   {"positives", std::string("all")}},
    .packets = [](seam::testing::Harness&) { return batches(); },
});

/// Equation 5 by loops over anchors, positives and negatives.
double by_loops(const Tensor& embedding, const std::vector<std::string>& items, bool soft,
                double margin, bool squared) {
  const auto values = embedding.accessor<float, 2>();
  const auto distance = [&](std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t i = 0; i < embedding.size(1); ++i) {
      const double difference =
          static_cast<double>(values[a][i]) - static_cast<double>(values[b][i]);
      sum += difference * difference;
    }
    return squared ? sum : std::sqrt(sum);
  };
  double sum = 0;
  int anchors = 0;
  const auto rows = static_cast<std::int64_t>(items.size());
  for (std::int64_t a = 0; a < rows; ++a) {
    double furthest = -1;
    double nearest = std::numeric_limits<double>::infinity();
    for (std::int64_t b = 0; b < rows; ++b) {
      const bool same = items[static_cast<std::size_t>(a)] == items[static_cast<std::size_t>(b)];
      if (a != b && same) furthest = std::max(furthest, distance(a, b));
      if (!same) nearest = std::min(nearest, distance(a, b));
    }
    if (furthest < 0 || std::isinf(nearest)) continue;
    ++anchors;
    const double excess = furthest - nearest;
    sum += soft ? std::log1p(std::exp(excess)) : std::max(0.0, margin + excess);
  }
  return sum / anchors;
}

/// Pushes a batch, which the stage must accept.
void push(seam::testing::Harness& harness, const Tensor& embedding,
          const std::vector<std::string>& items) {
  harness.push(test::labelled(embedding, items)).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
}

class BatchHardLossTest : public test::BatchLossTest {
 protected:
  [[nodiscard]] std::unique_ptr<seam::testing::Harness> stage() const {
    auto harness =
        std::make_unique<seam::testing::Harness>("batch_hard", std::make_unique<BatchHard>());
    harness->device(GetParam());
    return harness;
  }
};
SEAM_ON_EACH_DEVICE(BatchHardLossTest);

TEST_P(BatchHardLossTest, EqualsLoopsInAllItsForms) {
  torch::manual_seed(1);
  const Tensor embedding = torch::randn({12, 6});
  const std::vector<std::string> items{"a", "b", "a", "c", "b", "a", "d", "c", "b", "e", "a", "c"};
  for (const bool soft : {false, true}) {
    for (const bool squared : {false, true}) {
      const auto harness = stage();
      harness->set("form", soft ? "soft_plus" : "hinge")
          .set("distance", squared ? "squared" : "euclidean");
      if (!soft) harness->set("margin", Value{0.7});
      push(*harness, embedding.to(device()), items);
      EXPECT_NEAR(harness->metric("loss"), by_loops(embedding, items, soft, 0.7, squared), 1e-5);
      EXPECT_DOUBLE_EQ(harness->metric("without_positive"), 2);  // d and e
    }
  }
}

TEST_P(BatchHardLossTest, IsThatOfPytorchMetricLearning) {
  expect_golden(test::batch_hard_golden(), [this](const Tensor& embedding, const Labels& labels,
                                                  const std::vector<double>& options) {
    const auto harness = stage();
    harness->training(true).set("margin", Value{options[0]});
    std::vector<std::string> items;
    for (const std::int64_t label : labels) items.push_back(std::to_string(label));
    push(*harness, embedding.to(torch::kFloat32), items);
    return MeasuredLoss{harness->outputs().at(0).get(field::loss)};
  });
}

TEST_P(BatchHardLossTest, HandComputed) {
  // On a line: a at 0 and 3, b at 1 and 1. Farthest positives: 3, 3, 0, 0; nearest negatives: 1, 2,
  // 1, 1. With a margin of 0.5 the hinges are 2.5, 1.5, 0 and 0.
  const auto harness = stage();
  harness->set("margin", Value{0.5});
  push(*harness, torch::tensor({{0.0F}, {3.0F}, {1.0F}, {1.0F}}, device()), {"a", "a", "b", "b"});
  EXPECT_NEAR(harness->metric("loss"), 1.0, 1e-5);
  EXPECT_NEAR(harness->metric("positive_distance"), 1.5, 1e-5);
  EXPECT_NEAR(harness->metric("negative_distance"), 1.25, 1e-5);
  EXPECT_DOUBLE_EQ(harness->metric("active"), 0.5);
  EXPECT_DOUBLE_EQ(harness->metric("without_positive"), 0);
}

TEST_P(BatchHardLossTest, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(3);
  const std::vector<Tensor> rows{random(6, 5), random(6, 5)};
  for (const PairDistance distance : {PairDistance::euclidean, PairDistance::squared}) {
    test::expect_gradients(
        [&] {
          return torch::nn::functional::softplus(row_distances(rows[0], rows[1], distance) - 1)
              .sum();
        },
        rows);
  }
}

TEST_P(BatchHardLossTest, EqualPicturesHaveAFiniteGradient) {
  const auto harness = stage();
  const at::AutoGradMode gradients(true);
  const Tensor embedding =
      torch::tensor({{1.0F, 0.0F}, {1.0F, 0.0F}, {1.0F, 0.0F}, {1.0F, 0.0F}}, device())
          .requires_grad_(true);
  push(harness->training(true), embedding, {"a", "a", "b", "b"});
  Tensor loss = harness->outputs().at(0)[field::loss];
  EXPECT_NEAR(loss.item<double>(), 0.2, 1e-6);
  loss.backward();
  EXPECT_TRUE(torch::isfinite(embedding.grad()).all().item<bool>());
}

TEST(HardTriplets, TakeTheFirstOfEqualDistances) {
  const Tensor distances = torch::ones({4, 4}, torch::kFloat64);
  const HardTriplets triplets = hard_triplets(distances, {0, 0, 0, 1});
  EXPECT_THAT(triplets.anchors, ElementsAre(0, 1, 2));
  EXPECT_THAT(triplets.positives, ElementsAre(1, 0, 0));
  EXPECT_THAT(triplets.negatives, ElementsAre(3, 3, 3));
  EXPECT_EQ(triplets.without_positive, 1);
}

TEST(HardTriplets, OfAllPositivesHaveTheNearestNegative) {
  // a at 0, 3 and 1; b at 5; c twice at 9.
  const Tensor line = torch::tensor({0.0, 3.0, 1.0, 5.0, 9.0, 9.0}, torch::kFloat64);
  const Tensor distances = (line.unsqueeze(0) - line.unsqueeze(1)).abs();
  const HardTriplets triplets = hard_triplets(distances, {0, 0, 0, 1, 2, 2}, Positives::all);
  EXPECT_THAT(triplets.anchors, ElementsAre(0, 0, 1, 1, 2, 2, 4, 5));
  EXPECT_THAT(triplets.positives, ElementsAre(1, 2, 0, 2, 0, 1, 5, 4));
  EXPECT_THAT(triplets.negatives, ElementsAre(3, 3, 3, 3, 3, 3, 3, 3));
  EXPECT_EQ(triplets.without_positive, 1);
}

TEST(HardTriplets, HaveNegativesOfTheChosenCategories) {
  // Items a, b, c and d, of the categories 0, 0, 1 and 2; d has one image.
  const Tensor line = torch::tensor({0.0, 1.0, 2.0, 3.0, 5.0, 6.0, 20.0}, torch::kFloat64);
  const Tensor distances = (line.unsqueeze(0) - line.unsqueeze(1)).abs();
  const std::vector<std::int64_t> items{0, 0, 1, 1, 2, 2, 3};
  const std::vector<std::int64_t> categories{0, 0, 0, 0, 1, 1, 2};
  const HardTriplets others =
      hard_triplets(distances, items, Positives::hardest, {Negatives::other_category, categories});
  EXPECT_THAT(others.anchors, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(others.negatives, ElementsAre(4, 4, 4, 4, 3, 3));
  EXPECT_EQ(others.without_negative, 0);
  const HardTriplets same =
      hard_triplets(distances, items, Positives::hardest, {Negatives::same_category, categories});
  EXPECT_THAT(same.anchors, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(same.negatives, ElementsAre(2, 2, 1, 1));
  EXPECT_EQ(same.without_negative, 2);
  EXPECT_EQ(same.without_positive, 1);
}

TEST(BatchHardStage, ChoosesNegativesByCategory) {
  const auto loss = [](const std::string& negatives) {
    Packet packet =
        test::labelled(torch::tensor({{0.0F}, {1.0F}, {2.0F}, {3.5F}}), {"a", "a", "b", "c"});
    packet.set(field::categories, {0, 0, 0, 1});
    return test::metrics_of<BatchHard>(packet, {{"negatives", negatives}, {"margin", 3.0}})
        .at("loss");
  };
  EXPECT_NEAR(loss("any"), ((1 - 2 + 3) + (1 - 1 + 3)) / 2.0, 1e-6);
  EXPECT_NEAR(loss("same_category"), ((1 - 2 + 3) + (1 - 1 + 3)) / 2.0, 1e-6);
  EXPECT_NEAR(loss("other_category"), ((1 - 3.5 + 3) + (1 - 2.5 + 3)) / 2.0, 1e-6);
}

TEST(BatchHardStage, RefusesToChooseByCategoriesThatThereAreNot) {
  const auto complaint = [](const Labels& categories) {
    Packet packet = test::labelled(torch::ones({3, 2}), {"a", "a", "b"});
    if (!categories.empty()) packet.set(field::categories, categories);
    return test::complaint<BatchHard>(packet, {{"negatives", std::string("other_category")}});
  };
  EXPECT_EQ(complaint({0, 0, 1}), "accepted");
  EXPECT_THAT(complaint({}), HasSubstr("the batch has no categories"));
  EXPECT_THAT(complaint({0, 0, -1}), HasSubstr("image 2 of the batch has no category"));
  EXPECT_THAT(complaint({0, 0, 0}), HasSubstr("a negative of a different category"));
}

TEST(BatchHardStage, AllPositivesAreTheMeanOverTriplets) {
  const Packet packet =
      test::labelled(torch::tensor({{0.0F}, {3.0F}, {1.0F}, {2.0F}}), {"a", "a", "a", "b"});
  // 3 - 2 and 1 - 2; 3 - 1 and 2 - 1; 1 - 1 and 2 - 1; each + 0.5.
  EXPECT_NEAR(test::metrics_of<BatchHard>(
                  packet, {{"positives", std::string("all")}, {"margin", 0.5}})["loss"],
              (1.5 + 0 + 2.5 + 1.5 + 0.5 + 1.5) / 6, 1e-5);
}

TEST(BatchHardStage, RefusesBatchesWithoutATriplet) {
  test::expect_refuses_batches_without_pairs<BatchHard>();
  // In training as well, where other losses leave it to the optimizer: nothing could be mined.
  seam::testing::Harness harness("batch_hard", std::make_unique<BatchHard>());
  const Tensor embedding = torch::full({3, 2}, std::numeric_limits<float>::quiet_NaN());
  harness.training(true).push(test::labelled(embedding, {"a", "a", "b"}));
  EXPECT_THAT(only_error(harness).what(), HasSubstr("are not finite"));
}

}  // namespace seam::stages::batch_hard_test
