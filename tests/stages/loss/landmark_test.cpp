#include "stages/loss/landmark.hpp"

#include <gmock/gmock.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/stages/loss/landmark_batch.hpp"

namespace seam::stages::landmark_test {

using ::testing::HasSubstr;

const auto conformance = seam::testing::conformance<Landmark>({
    .packets = landmark_batches,
});

class LandmarkLossTest : public seam::testing::EachDevice {};
SEAM_ON_EACH_DEVICE(LandmarkLossTest);

TEST_P(LandmarkLossTest, HandComputed) {
  const Tensor predicted =
      torch::tensor({{{0.5, 0.5}, {0.0, 0.0}}, {{0.25, 0.75}, {0.1, 0.2}}}, torch::kFloat64)
          .to(device());
  const Tensor places =
      torch::tensor({{{0.5, 0.0}, {9.0, 9.0}}, {{0.25, 0.5}, {0.4, 0.6}}}, torch::kFloat64)
          .to(device());
  const Tensor visible = torch::tensor({{true, false}, {true, true}}).to(device());
  // 0.25 of the first image; 0.0625 + 0.25 of the second
  EXPECT_NEAR(landmark_loss(predicted, places, visible).item<double>(), 0.28125, 1e-12);
}

TEST_P(LandmarkLossTest, PixelsAreShares) {
  const Tensor pixels = torch::tensor({{{0.0, 0.0}, {9.5, 19.0}}}, torch::kFloat64).to(device());
  const Tensor expected =
      torch::tensor({{{0.05, 0.025}, {1.0, 0.975}}}, torch::kFloat64).to(device());
  EXPECT_TRUE(shares_of(pixels, 20, 10).allclose(expected, 0, 1e-12));
}

TEST_P(LandmarkLossTest, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(2);
  const Tensor places = torch::rand({3, 8, 2}, torch::kFloat64).to(device());
  const Tensor visible = torch::rand({3, 8}).to(device()) > 0.4;
  const std::vector<Tensor> predicted{
      torch::rand({3, 8, 2}, torch::kFloat64).to(device()).requires_grad_(true)};
  test::expect_gradients([&] { return landmark_loss(predicted[0], places, visible); }, predicted,
                         48);
}

TEST(LandmarkStage, IsWhatAdditionNumberByNumberGives) {
  const Packet packet = landmark_batch();
  const Tensor predicted = packet.get(field::predicted_landmarks).detach();
  const Tensor& places = packet.get(field::true_landmarks);
  const Tensor& states = packet.get(field::true_visibility);
  double squares = 0;
  double distances = 0;
  int visible = 0;
  for (int n = 0; n < 3; ++n) {
    for (int l = 0; l < 8; ++l) {
      if (states[n][l].item<int>() != 0) continue;
      const double x =
          predicted[n][l][0].item<double>() - (places[n][l][0].item<double>() + 0.5) / 20;
      const double y =
          predicted[n][l][1].item<double>() - (places[n][l][1].item<double>() + 0.5) / 10;
      squares += x * x + y * y;
      distances += std::hypot(x, y);
      ++visible;
    }
  }
  ASSERT_GT(visible, 2);
  auto measured = test::metrics_of<Landmark>(packet);
  EXPECT_NEAR(measured["loss"], squares / 3, 1e-5);
  EXPECT_NEAR(measured["error"], distances / visible, 1e-5);
}

TEST(LandmarkStage, NothingVisibleIsALossOfNothing) {
  Packet packet = landmark_batch();
  packet.set(field::true_visibility, torch::full({3, 8}, 2, torch::kInt64));
  EXPECT_EQ(test::metrics_of<Landmark>(packet).at("loss"), 0);
}

TEST(LandmarkStage, LandmarksOfPicturesOfAnotherSizeAreRefused) {
  Packet packet = landmark_batch();
  Tensor places = packet.get(field::true_landmarks).clone();
  packet.set(field::true_visibility, torch::zeros({3, 8}, torch::kInt64));
  for (const float x : {22.0F, NAN}) {
    places[1][2][0] = x;
    packet.set(field::true_landmarks, places);
    EXPECT_THAT(test::complaint<Landmark>(packet),
                HasSubstr("row 1: landmark 3 (left sleeve) is at x "));
  }
  Tensor states = torch::zeros({3, 8}, torch::kInt64);
  states[1][2] = 2;
  packet.set(field::true_visibility, states);
  EXPECT_EQ(test::complaint<Landmark>(packet), "accepted")
      << "landmarks that are cut off may be anywhere";
}

TEST(LandmarkLoss, WhatIsNotVisibleHasNoGradientWhateverItIs) {
  const at::AutoGradMode gradients(true);
  const Tensor predicted = torch::rand({1, 2, 2}, torch::kFloat64).set_requires_grad(true);
  Tensor places = torch::tensor({0.5, 0.25, 0.0, 0.0}, torch::kFloat64).view({1, 2, 2});
  places[0][1].fill_(std::nan(""));
  const Tensor visible = torch::tensor({1, 0}).to(torch::kBool).view({1, 2});
  landmark_loss(predicted, places, visible).backward();
  const Tensor& gradient = predicted.grad();
  EXPECT_TRUE(torch::allclose(gradient[0][0], 2 * (predicted[0][0] - places[0][0]).detach()));
  EXPECT_EQ(gradient[0][1].abs().max().item<double>(), 0);
}

}  // namespace seam::stages::landmark_test
