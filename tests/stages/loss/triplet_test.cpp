#include "stages/loss/triplet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>

#include "stages/loss/triplet_loss.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages {
namespace triplet_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const auto conformance = seam::testing::conformance<Triplet>({
    .packets =
        [](seam::testing::Harness&) {
          using enum Role;
          std::vector<Packet> packets(3);
          for (std::size_t at = 0; at < packets.size(); ++at) {
            packets[at].set(field::embedding,
                            torch::arange(24.0F).view({6, 4}) * static_cast<float>(at + 1));
            packets[at].set(field::groups, {1, 1, 1, 2, 2, 2});
            packets[at].set(field::roles, {anchor, positive, negative, negative, anchor, positive});
          }
          return packets;
        },
});

class TripletLossTest : public seam::testing::EachDevice {};
SEAM_ON_EACH_DEVICE(TripletLossTest);

TEST_P(TripletLossTest, HandComputed) {
  // d²ap = 1, d²an = 4: 1 - 4 + 2 < 0; and d²ap = 4, d²an = 1: 4 - 1 + 2 = 5.
  const Tensor anchors = torch::tensor({{0.0F, 0.0F}, {0.0F, 0.0F}}, device());
  const Tensor positives = torch::tensor({{1.0F, 0.0F}, {0.0F, 2.0F}}, device());
  const Tensor negatives = torch::tensor({{2.0F, 0.0F}, {1.0F, 0.0F}}, device());
  const TripletLoss result = triplet_loss(anchors, positives, negatives, 2.0);
  EXPECT_FLOAT_EQ(result.loss.item<float>(), 2.5F);
  EXPECT_DOUBLE_EQ(result.positive_distance.item<double>(), 2.5);
  EXPECT_DOUBLE_EQ(result.negative_distance.item<double>(), 2.5);
  EXPECT_DOUBLE_EQ(result.active.item<double>(), 0.5);
}

TEST_P(TripletLossTest, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(1);
  std::vector<Tensor> embeddings;
  for (int i = 0; i < 3; ++i) {
    embeddings.push_back(torch::randn({5, 4}, torch::kFloat64).to(device()).requires_grad_(true));
  }
  test::expect_gradients(
      [&] { return triplet_loss(embeddings[0], embeddings[1], embeddings[2], 2.0).loss; },
      embeddings);
}

TEST_P(TripletLossTest, CosinesHandComputed) {
  // cos(a,p) = 0.6 and cos(a,n) = 0, whatever the lengths; and 1 and -1.
  const Tensor anchors = torch::tensor({{2.0, 0.0}, {0.0, 1.0}}, torch::kFloat64).to(device());
  const Tensor positives = torch::tensor({{3.0, 4.0}, {0.0, 7.0}}, torch::kFloat64).to(device());
  const Tensor negatives = torch::tensor({{0.0, 5.0}, {0.0, -0.1}}, torch::kFloat64).to(device());
  const CosineTripletLoss result = cosine_triplet_loss(anchors, positives, negatives);
  EXPECT_NEAR(result.loss.item<double>(),
              (std::log1p(std::exp(-0.6)) + std::log1p(std::exp(-2.0))) / 2, 1e-9);
  EXPECT_NEAR(result.positive_cosine.item<double>(), 0.8, 1e-12);
  EXPECT_NEAR(result.negative_cosine.item<double>(), -0.5, 1e-12);
}

TEST_P(TripletLossTest, GradientOfCosinesIsThatOfFiniteDifferencesAndFiniteAtZero) {
  const torch::AutoGradMode gradients(true);  // a stage that was evaluated here turned them off
  torch::manual_seed(2);
  std::vector<Tensor> embeddings;
  for (int i = 0; i < 3; ++i) {
    embeddings.push_back(torch::randn({5, 4}, torch::kFloat64).to(device()).requires_grad_(true));
  }
  test::expect_gradients(
      [&] { return cosine_triplet_loss(embeddings[0], embeddings[1], embeddings[2]).loss; },
      embeddings);
  const Tensor zero = torch::zeros({2, 4}).to(device()).requires_grad_(true);
  const Tensor loss = cosine_triplet_loss(zero, zero, zero).loss;
  EXPECT_NEAR(loss.item<double>(), std::log(2.0), 1e-6);
  loss.backward();
  EXPECT_TRUE(torch::isfinite(zero.grad()).all().item<bool>());
}

TEST(TripletRows, AreFoundInAnyOrder) {
  using enum Role;
  const TripletRows rows =
      triplet_rows({9, 4, 9, 4, 4, 9}, {negative, anchor, anchor, negative, positive, positive});
  EXPECT_THAT(rows.anchors, ElementsAre(2, 1));
  EXPECT_THAT(rows.positives, ElementsAre(5, 4));
  EXPECT_THAT(rows.negatives, ElementsAre(0, 3));
}

TEST(TripletRows, RefuseGroupsThatAreNoTriplets) {
  using enum Role;
  EXPECT_REFUSED((void)triplet_rows({1, 1}, {anchor, positive}), Fault::data,
                 "group 1 lacks an image");
  EXPECT_REFUSED((void)triplet_rows({1, 1, 1}, {anchor, anchor, negative}), Fault::internal,
                 "group 1 contains two images with the same role");
  try {
    (void)triplet_rows({1}, {single});
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("put a triplet sampler into the flow"));
  }
}

TEST(Triplet, ProvidesTheLossAndReportsIt) {
  using enum Role;
  seam::testing::Harness harness("loss", std::make_unique<Triplet>());
  Packet packet;
  packet.set(field::embedding, torch::tensor({{0.0F, 0.0F}, {0.0F, 2.0F}, {1.0F, 0.0F}}));
  packet.set(field::groups, std::vector<std::int64_t>{3, 3, 3});
  packet.set(field::roles, std::vector<Role>{anchor, positive, negative});
  harness.push(packet).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  EXPECT_FLOAT_EQ(harness.outputs().at(0)[field::loss].item<float>(), 5.0F);
  EXPECT_DOUBLE_EQ(harness.metric("loss"), 5.0);
  EXPECT_DOUBLE_EQ(harness.metric("active"), 1.0);
}

TEST(Triplet, ByCosinesItHasNoMargin) {
  using enum Role;
  Packet packet;
  packet.set(field::embedding, torch::tensor({{1.0F, 0.0F}, {0.6F, 0.8F}, {0.0F, 1.0F}}));
  packet.set(field::groups, std::vector<std::int64_t>{3, 3, 3});
  packet.set(field::roles, std::vector<Role>{anchor, positive, negative});
  seam::testing::Harness harness("loss", std::make_unique<Triplet>());
  harness.set("form", "cosine").push(packet).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  EXPECT_NEAR(harness.metric("loss"), std::log1p(std::exp(-0.6)), 1e-6);
  EXPECT_NEAR(harness.metric("positive_cosine"), 0.6, 1e-6);
  seam::testing::Harness contradicted("loss", std::make_unique<Triplet>());
  contradicted.set("form", "cosine").set("margin", Value{1.0});
  EXPECT_REFUSED(contradicted.open(), Fault::configuration, "`margin` has no effect");
}

TEST(Triplet, InTrainingReportsWhatTheOptimizerAccepted) {
  using enum Role;
  seam::testing::Harness harness("loss", std::make_unique<Triplet>());
  harness.training(true);
  const auto push = [&](float positive_at) {
    Packet packet;
    packet.set(field::embedding, torch::tensor({{0.0F, 0.0F}, {0.0F, positive_at}, {1.0F, 0.0F}}));
    packet.set(field::groups, std::vector<std::int64_t>{3, 3, 3});
    packet.set(field::roles, std::vector<Role>{anchor, positive, negative});
    harness.push(packet);
  };
  auto& loss = dynamic_cast<Triplet&>(harness.runner().stage());
  push(2);  // 4 - 1 + 2
  loss.batch_accepted();
  push(100);  // skipped
  push(3);    // 9 - 1 + 2
  loss.batch_accepted();
  harness.finish();
  EXPECT_THAT(harness.metrics().at("loss"), ElementsAre(5.0, 10.0));
}

}  // namespace triplet_test
}  // namespace seam::stages
