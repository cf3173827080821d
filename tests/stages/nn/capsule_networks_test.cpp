/// Checks every network here for known errors of ports of capsule networks: results that depend on
/// the other images of a batch, gradients that are not finite if capsules are zero, and wrong
/// gradients. routing_test.cpp checks the routing that all of them share: coupling
/// coefficients sum to one over the classes, and the order of input capsules does not matter.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <ostream>
#include <string>
#include <vector>

#include "stages/nn/capsule_network.hpp"
#include "tests/stages/nn/network_properties.hpp"

namespace seam::nn::capsule_networks_test {

using torch::Tensor;

struct NamedNetwork {
  std::string name;
  NetworkOptions options;
};

void PrintTo(const NamedNetwork& network, std::ostream* out) {
  *out << network.name;
}

/// The same network with few channels and capsules.
NetworkOptions small(NetworkOptions options) {
  options.width = 3;
  options.capsule_size = 4;
  options.primary_channels = 8;
  options.classes = 3;
  options.class_capsule_size = 4;
  // Without padding the released classifier's convolutions need images of at least this size.
  const bool valid = options.features == FeatureKind::stacked_valid;
  options.images = valid ? ImageSize{82, 80} : ImageSize{25, 22};
  if (options.features == FeatureKind::one_convolution) {
    options.convolutions = {5, 3, 2};
    options.first_stride = 2;
  }
  return options;
}

NetworkOptions capsnet() {
  NetworkOptions options;
  options.features = FeatureKind::one_convolution;
  options.weights = CapsuleWeights::own;
  options.channels = 1;
  options.dropout = 0;
  options.norm_axis = NormAxis::none;
  options.routing.logits = Logits::accumulate;
  return options;
}

std::vector<NamedNetwork> networks() {
  return {{"sccapsnet_as_published", small(sccapsnet_as_published())},
          {"sccapsnet_as_released", small(sccapsnet_as_released())},
          {"rccapsnet_as_published", small(rccapsnet_as_published())},
          {"rccapsnet_as_released", small(rccapsnet_as_released())},
          {"sccapsnet_cls_as_published", small(sccapsnet_cls_as_published())},
          {"sccapsnet_cls_as_released", small(sccapsnet_cls_as_released())},
          {"rccapsnet_cls_as_published", small(rccapsnet_cls_as_published())},
          {"rccapsnet_cls_as_released", small(rccapsnet_cls_as_released())},
          {"capsnet", small(capsnet())},
          {"scn", small(siamese_capsules())}};
}

class CapsuleNetworksTest : public ::testing::TestWithParam<NamedNetwork> {
 protected:
  [[nodiscard]] static const NetworkOptions& options() { return GetParam().options; }
  [[nodiscard]] static CapsuleNetwork in_double() {
    CapsuleNetwork network(options(), 5);
    network->to(torch::kFloat64);
    return network;
  }
  [[nodiscard]] static Tensor pictures(std::int64_t count) {
    return torch::rand({count, 3, options().images.height, options().images.width},
                       torch::kFloat64);
  }
  const test::Threads one_{1};  // many small passes
};

TEST_P(CapsuleNetworksTest, APictureIsMeasuredByItself) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_gradient;
  CapsuleNetwork network = in_double();
  network->eval();
  const Tensor images = pictures(5);
  const ClassCapsules together = network->forward(images);
  for (std::int64_t i = 0; i < 5; ++i) {
    const ClassCapsules alone = network->forward(images.narrow(0, i, 1));
    EXPECT_TRUE(torch::allclose(alone.capsules[0], together.capsules[i], 1e-10, 1e-12)) << i;
    EXPECT_TRUE(torch::allclose(alone.lengths[0], together.lengths[i], 1e-10, 1e-12)) << i;
  }
  const ClassCapsules backwards = network->forward(images.flip(0));
  EXPECT_TRUE(torch::allclose(backwards.capsules.flip(0), together.capsules, 1e-10, 1e-12));
}

TEST_P(CapsuleNetworksTest, BlackPicturesHaveFiniteGradients) {
  CapsuleNetwork network(options(), 5);
  const ClassCapsules out =
      network->forward(torch::zeros_like(pictures(2)).to(torch::kFloat32), {});
  EXPECT_TRUE(torch::isfinite(out.capsules).all().item<bool>());
  (out.capsules.sum() + out.lengths.sum()).backward();
  test::expect_finite_gradients(*network);
}

TEST_P(CapsuleNetworksTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(2);
  CapsuleNetwork network = in_double();
  network->eval();
  const Tensor images = pictures(2);
  const ClassCapsules shape = network->forward(images);
  const Tensor direction = torch::randn_like(shape.capsules.detach());
  const Tensor length_direction = torch::randn_like(shape.lengths.detach());
  constexpr std::int64_t samples = 5;
  constexpr double step = 1e-6;  // squash bends much where capsules are short
  test::expect_gradients(
      [&] {
        const ClassCapsules out = network->forward(images);
        return (out.capsules * direction).sum() + (out.lengths * length_direction).sum();
      },
      network->parameters(), samples, step);
}

INSTANTIATE_TEST_SUITE_P(Networks, CapsuleNetworksTest, ::testing::ValuesIn(networks()),
                         [](const auto& network) { return network.param.name; });

}  // namespace seam::nn::capsule_networks_test
