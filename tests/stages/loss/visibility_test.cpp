#include "stages/loss/visibility.hpp"

#include <gmock/gmock.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/stages/loss/landmark_batch.hpp"

namespace seam::stages::visibility_test {

using ::testing::HasSubstr;

const auto conformance = seam::testing::conformance<Visibility>({
    .packets = landmark_batches,
});

class VisibilityLossTest : public seam::testing::EachDevice {};
SEAM_ON_EACH_DEVICE(VisibilityLossTest);

TEST_P(VisibilityLossTest, IsWhatSoftmaxesOneByOneGive) {
  torch::manual_seed(1);
  const Tensor logits = torch::randn({3, 8, 4}, torch::kFloat64);
  const Tensor states = torch::randint(4, {3, 8}, torch::kInt64);
  double sum = 0;
  for (int n = 0; n < 3; ++n) {
    for (int l = 0; l < 8; ++l) {
      double all = 0;
      for (int s = 0; s < 4; ++s) all += std::exp(logits[n][l][s].item<double>());
      sum -= std::log(std::exp(logits[n][l][states[n][l].item<int>()].item<double>()) / all);
    }
  }
  EXPECT_NEAR(visibility_loss(logits.to(device()), states.to(device())).item<double>(), sum / 24,
              1e-12);
}

TEST_P(VisibilityLossTest, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(2);
  const Tensor states = torch::randint(4, {2, 8}, torch::kInt64).to(device());
  const std::vector<Tensor> logits{
      torch::randn({2, 8, 4}, torch::kFloat64).to(device()).requires_grad_(true)};
  test::expect_gradients([&] { return visibility_loss(logits[0], states); }, logits, 64);
}

TEST(VisibilityStage, MeasuresItsAccuracy) {
  Packet packet = landmark_batch();
  const Tensor states = packet.get(field::visibility_logits).argmax(-1).clone();
  states[0][0] = (states[0][0] + 1) % 4;
  states[2][7] = (states[2][7] + 1) % 4;
  packet.set(field::true_visibility, states);
  EXPECT_NEAR(test::metrics_of<Visibility>(packet).at("accuracy"), 22.0 / 24, 1e-6);
}

TEST(VisibilityStage, StatesThatAreNoneAreRefused) {
  for (const int state : {-1, 4}) {
    Packet packet = landmark_batch();
    Tensor states = packet.get(field::true_visibility).clone();
    states[2][3] = state;
    packet.set(field::true_visibility, states);
    EXPECT_THAT(test::complaint<Visibility>(packet),
                HasSubstr("row 2: landmark 4 has visibility " + std::to_string(state)));
  }
}

}  // namespace seam::stages::visibility_test
