/// Tiny capsule networks in double against capsule_networks_golden.hpp: a pass, its gradients and
/// three steps of Adam in Keras' form. The numbers come from capsule_networks_golden.py, which was
/// written from the networks' description alone, without automatic differentiation.
#include "tests/stages/golden/capsule_networks_golden.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stages/loss/margin.hpp"
#include "stages/loss/reconstruction.hpp"
#include "stages/loss/triplet.hpp"
#include "stages/model/capsule_decoder.hpp"
#include "stages/nn/capsule_network.hpp"
#include "stages/train/adam.hpp"

namespace seam::stages::capsule_networks_test {

constexpr double tolerance = 1e-8;
constexpr double regulariser = 0.392;

Tensor images() {
  return 0.5 + 0.5 * test::numbers(std::int64_t{6} * 3 * 32 * 16, 0.3).view({6, 3, 32, 16});
}

Tensor labels(const std::vector<std::int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

const std::vector<std::int64_t> categories{1, 1, 2, 0, 0, 1};
const std::vector<std::int64_t> anchors{1, 1, 1, 0, 0, 0};

struct Pass {
  Tensor loss, capsules, lengths;
};

/// A network of the golden ones with its weights by name.
class Network {
 public:
  explicit Network(const std::string& name) : classifies_(name.ends_with("_cls")) {
    net_ = nn::CapsuleNetwork(options(name), 1);
    net_->to(torch::kFloat64);
    for (const auto& item : net_->named_parameters()) weights_[item.key()] = item.value();
    if (classifies_) {
      nn::CapsuleDecoderOptions decoder;
      decoder.classes = 3;
      decoder.capsule_size = 4;
      decoder.images = {32, 16};
      decoder.dense_channels = 3;
      decoder.channels = {4};
      decoder.kernels = {5, 4};
      decoder.strides = {2, 2};
      decoder_ = nn::CapsuleDecoder(decoder, 1);
      decoder_->to(torch::kFloat64);
      for (const auto& item : decoder_->named_parameters()) {
        weights_["d." + item.key()] = item.value();
      }
    }
    initialise();
  }

  Pass pass(const Tensor& pictures) {
    const nn::ClassCapsules out = net_->forward(pictures, {});
    Pass result{{}, out.capsules, out.lengths};
    if (classifies_) {
      const Tensor drawn = decoder_->forward(out.capsules, labels(categories));
      result.loss = margin_loss(out.lengths, labels(categories), {}) +
                    regulariser * reconstruction_loss(pictures, drawn, Reduction::mean);
      return result;
    }
    const Tensor embedding = nn::mask_capsules(out.capsules, labels(anchors));
    const auto role = [&](std::int64_t at) {
      return embedding.index_select(0, labels({at, at + 3}));
    };
    result.loss = triplet_loss(role(0), role(1), role(2), 2.0).loss;
    return result;
  }

  [[nodiscard]] const std::map<std::string, Tensor>& weights() const { return weights_; }

 private:
  static nn::NetworkOptions options(const std::string& name) {
    nn::NetworkOptions options =
        name.ends_with("_released") ? nn::sccapsnet_as_released() : nn::sccapsnet_as_published();
    if (name.starts_with("rc")) options.features = nn::FeatureKind::residual;
    options.classes = 3;
    options.width = 2;
    options.primary_channels = 8;
    options.capsule_size = 4;
    options.class_capsule_size = 4;
    options.dropout = 0;
    if (name.ends_with("_cls")) {
      options.weights = nn::CapsuleWeights::own;
      options.images = {32, 16};
    }
    return options;
  }

  void initialise() {
    const torch::NoGradGuard no_gradient;
    double at = 0;
    for (const auto& [name, weight] : weights_) {
      const Tensor values = test::numbers(weight.numel(), 0.7 * ++at).view(weight.sizes());
      const bool scale = name.find("bn") != std::string::npos && name.ends_with("weight");
      Tensor(weight).copy_(scale ? 1 + 0.3 * values : (name == "w" ? 3.0 : 0.4) * values);
    }
  }

  bool classifies_;
  nn::CapsuleNetwork net_{nullptr};
  nn::CapsuleDecoder decoder_{nullptr};
  std::map<std::string, Tensor> weights_;
};

/// The part of the golden numbers that a weight belongs to.
std::string part_of(const std::string& name) {
  return name.substr(0, name.find('.', name.starts_with("f.") ? 2 : 0));
}

/// Tensors of each part in order of their names.
using Parts = std::map<std::string, std::vector<Tensor>>;

void expect_digests(const Parts& parts, const test::CapsuleNetworkGolden& golden,
                    test::Digest test::TrainedPart::*digest) {
  ASSERT_EQ(parts.size(), golden.parts.size());
  for (const auto& [part, tensors] : parts) {
    SCOPED_TRACE(part);
    test::expect_digest(tensors, golden.parts.at(part).*digest, tolerance);
  }
}

class CapsuleNetworksGolden : public ::testing::TestWithParam<test::CapsuleNetworkGolden> {};

TEST_P(CapsuleNetworksGolden, PassGradientsAndThreeStepsAreThoseOfTheIndependentProgram) {
  const test::CapsuleNetworkGolden& golden = GetParam();
  Network network(golden.name);
  const Tensor pictures = images();
  AdamSettings adam;
  adam.rate = 0.01;
  adam.epsilon_form = EpsilonForm::keras;
  std::map<std::string, std::pair<Tensor, Tensor>> moments;
  Parts gradients;
  Parts weights;
  for (std::int64_t step = 1; step <= 3; ++step) {
    const Pass pass = network.pass(pictures);
    EXPECT_NEAR(pass.loss.item<double>(), golden.losses.at(static_cast<std::size_t>(step - 1)),
                tolerance)
        << step;
    if (step == 1) {
      test::expect_digest({pass.capsules}, golden.capsules, tolerance);
      test::expect_digest({pass.lengths}, golden.lengths, tolerance);
    }
    pass.loss.backward();
    for (const auto& [name, weight] : network.weights()) {
      const Tensor gradient = weight.grad();
      ASSERT_TRUE(gradient.defined()) << name;
      auto& [mean, square] = moments[name];
      if (step == 1) {
        gradients[part_of(name)].push_back(gradient);
        weights[part_of(name)].push_back(weight);
        mean = torch::zeros_like(weight);
        square = torch::zeros_like(weight);
      }
      adam_step(weight.detach(), gradient.detach(), mean, square, step, adam);
      Tensor(weight).mutable_grad() = Tensor();
    }
  }
  EXPECT_NEAR(network.pass(pictures).loss.item<double>(), golden.losses.at(3), tolerance);
  expect_digests(gradients, golden, &test::TrainedPart::gradient);
  expect_digests(weights, golden, &test::TrainedPart::weight);
}

INSTANTIATE_TEST_SUITE_P(Networks, CapsuleNetworksGolden,
                         ::testing::ValuesIn(test::capsule_networks_golden()),
                         [](const auto& golden) { return golden.param.name; });

}  // namespace seam::stages::capsule_networks_test
