#include "stages/loss/triplet.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <cmath>

#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::triplet_test {

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

class TripletLossTest : public test::BatchLossTest {
 protected:
  /// Anchors, positives and negatives.
  [[nodiscard]] std::vector<Tensor> triplets() const {
    return {random(5, 4), random(5, 4), random(5, 4)};
  }
};
SEAM_ON_EACH_DEVICE(TripletLossTest);

TEST_P(TripletLossTest, HandComputed) {
  // d²ap = 1, d²an = 4: 1 - 4 + 2 < 0; and d²ap = 4, d²an = 1: 4 - 1 + 2 = 5.
  const Tensor anchors = torch::tensor({{0.0F, 0.0F}, {0.0F, 0.0F}}, device());
  const Tensor positives = torch::tensor({{1.0F, 0.0F}, {0.0F, 2.0F}}, device());
  const Tensor negatives = torch::tensor({{2.0F, 0.0F}, {1.0F, 0.0F}}, device());
  const MeasuredLoss result = triplet_loss(anchors, positives, negatives, 2.0);
  EXPECT_FLOAT_EQ(result.loss.item<float>(), 2.5F);
  EXPECT_DOUBLE_EQ(test::measured(result, "positive_distance"), 2.5);
  EXPECT_DOUBLE_EQ(test::measured(result, "negative_distance"), 2.5);
  EXPECT_DOUBLE_EQ(test::measured(result, "active"), 0.5);
}

TEST_P(TripletLossTest, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(1);
  const std::vector<Tensor> embeddings = triplets();
  test::expect_gradients(
      [&] { return triplet_loss(embeddings[0], embeddings[1], embeddings[2], 2.0).loss; },
      embeddings);
}

TEST_P(TripletLossTest, CosinesHandComputed) {
  // cos(a,p) = 0.6 and cos(a,n) = 0, whatever the lengths; and 1 and -1.
  const Tensor anchors = torch::tensor({{2.0, 0.0}, {0.0, 1.0}}, torch::kFloat64).to(device());
  const Tensor positives = torch::tensor({{3.0, 4.0}, {0.0, 7.0}}, torch::kFloat64).to(device());
  const Tensor negatives = torch::tensor({{0.0, 5.0}, {0.0, -0.1}}, torch::kFloat64).to(device());
  const MeasuredLoss result = cosine_triplet_loss(anchors, positives, negatives);
  EXPECT_NEAR(result.loss.item<double>(),
              (std::log1p(std::exp(-0.6)) + std::log1p(std::exp(-2.0))) / 2, 1e-9);
  EXPECT_NEAR(test::measured(result, "positive_cosine"), 0.8, 1e-12);
  EXPECT_NEAR(test::measured(result, "negative_cosine"), -0.5, 1e-12);
}

TEST_P(TripletLossTest, GradientOfCosinesIsThatOfFiniteDifferencesAndFiniteAtZero) {
  const torch::AutoGradMode gradients(true);  // a stage that was evaluated here turned them off
  torch::manual_seed(2);
  const std::vector<Tensor> embeddings = triplets();
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
  EXPECT_REFUSED((void)triplet_rows({1}, {single}), Fault::configuration,
                 "put a triplet sampler into the flow");
}

/// Rows of an anchor, its positive and its negative.
Packet one_triplet(const Tensor& embedding) {
  Packet packet;
  packet.set(field::embedding, embedding);
  packet.set(field::groups, {3, 3, 3});
  packet.set(field::roles, {Role::anchor, Role::positive, Role::negative});
  return packet;
}

TEST(Triplet, ReportsTheLoss) {
  const Packet packet = one_triplet(torch::tensor({{0.0F, 0.0F}, {0.0F, 2.0F}, {1.0F, 0.0F}}));
  auto measured = test::metrics_of<Triplet>(packet);
  EXPECT_DOUBLE_EQ(measured["loss"], 5.0);
  EXPECT_DOUBLE_EQ(measured["active"], 1.0);
}

TEST(Triplet, ByCosinesItHasNoMargin) {
  const Packet packet = one_triplet(torch::tensor({{1.0F, 0.0F}, {0.6F, 0.8F}, {0.0F, 1.0F}}));
  auto measured = test::metrics_of<Triplet>(packet, {{"form", std::string("cosine")}});
  EXPECT_NEAR(measured["loss"], std::log1p(std::exp(-0.6)), 1e-6);
  EXPECT_NEAR(measured["positive_cosine"], 0.6, 1e-6);
  seam::testing::Harness contradicted("loss", std::make_unique<Triplet>());
  contradicted.set("form", "cosine").set("margin", Value{1.0});
  EXPECT_REFUSED(contradicted.open(), Fault::configuration, "has no effect with form = \"cosine\"");
}

}  // namespace seam::stages::triplet_test
