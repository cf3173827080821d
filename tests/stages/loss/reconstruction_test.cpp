#include "stages/loss/reconstruction.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <vector>

#include "stages/reconstruction.hpp"
#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::reconstruction_test {

Packet batch(std::int64_t height = 5) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({3, 3, 5, 4}));
  packet.set(field::reconstruction, torch::rand({3, 3, height, 4}));
  return packet;
}

const auto conformance = seam::testing::conformance<Reconstruction>({
    .packets =
        [](seam::testing::Harness&) {
          return std::vector<Packet>{batch(), batch()};
        },
});

class ReconstructionLossTest : public seam::testing::EachDevice {};
SEAM_ON_EACH_DEVICE(ReconstructionLossTest);

TEST_P(ReconstructionLossTest, HandComputed) {
  const Tensor images = torch::tensor({{1.0, 0.5}, {0.0, 0.25}}, torch::kFloat64).to(device());
  const Tensor drawn = torch::tensor({{0.0, 0.5}, {0.5, 0.75}}, torch::kFloat64).to(device());
  EXPECT_NEAR(reconstruction_loss(images, drawn, Reduction::mean).item<double>(), 0.375, 1e-12);
  EXPECT_NEAR(reconstruction_loss(images, drawn, Reduction::sum).item<double>(), 0.75, 1e-12);
}

TEST_P(ReconstructionLossTest, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(2);
  const Tensor images = torch::rand({2, 3, 3, 2}, torch::kFloat64).to(device());
  const std::vector<Tensor> drawn{
      torch::rand({2, 3, 3, 2}, torch::kFloat64).to(device()).requires_grad_(true)};
  for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
    test::expect_gradients([&] { return reconstruction_loss(images, drawn[0], reduction); }, drawn);
  }
}

TEST(ReconstructionStage, ASumIsTheMeanTimesTheNumbersOfAPicture) {
  const auto loss = [](const char* reduction) {
    return test::metrics_of<Reconstruction>(batch(), {{"reduction", std::string(reduction)}})
        .at("loss");
  };
  EXPECT_NEAR(loss("sum"), loss("mean") * 60, 1e-4);
}

TEST(ReconstructionStage, RefusesPicturesOfAnotherSize) {
  EXPECT_THAT(test::complaint<Reconstruction>(batch(6)),
              HasSubstr("the images are 4x5 but their reconstructions 4x6 (width x height)"));
}

TEST(ReconstructionStage, RefusesPicturesThatADecoderCannotDraw) {
  for (const float value : {-0.5F, 1.5F}) {
    Packet packet = batch();
    packet.set(field::images, torch::full_like(packet.get(field::images), value));
    EXPECT_THAT(test::complaint<Reconstruction>(packet), HasSubstr("leave `mean` and `deviation`"));
  }
}

}  // namespace seam::stages::reconstruction_test
