/// Checks every capsule layer for errors of well-known capsule networks: softmax over the input
/// capsules, logits that images of a batch share, infinite gradients at zero.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <array>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "stages/nn/routing.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace capsule_layers_test {

using torch::Tensor;

constexpr std::int64_t inputs = 37;
constexpr std::int64_t input_size = 5;
constexpr std::int64_t classes = 4;
constexpr std::int64_t output_size = 3;

struct Layer {
  std::string name;
  bool own = false;  ///< separate weights for each input capsule
  RoutingOptions options;
};

void PrintTo(const Layer& layer, std::ostream* out) {
  *out << layer.name;
}

std::vector<Layer> all_layers() {
  std::vector<Layer> layers;
  const std::vector<std::pair<std::string, SquashForm>> squashes{
      {"squash", SquashForm::epsilon_in_root},
      {"squash_after_root", SquashForm::epsilon_after_root},
      {"tanh", SquashForm::tanh},
      {"sigmoid", SquashForm::sigmoid}};
  for (const auto& [squash, form] : squashes) {
    for (const Logits logits : {Logits::replace, Logits::accumulate}) {
      for (std::size_t which = 0; which < 3; ++which) {
        Layer layer;
        layer.own = which == 2;
        layer.options.squash = form;
        layer.options.logits = logits;
        layer.options.iterations = 4;
        layer.options.form = which == 1 ? RoutingForm::direct : RoutingForm::factored;
        constexpr std::array names{"shared_factored_", "shared_direct_", "own_"};
        layer.name =
            names[which] + squash + (logits == Logits::replace ? "_replace" : "_accumulate");
        layers.push_back(layer);
      }
    }
  }
  return layers;
}

class CapsuleLayer : public ::testing::TestWithParam<Layer> {
 protected:
  static Tensor capsules(std::int64_t images, torch::ScalarType type) {
    return torch::randn({images, inputs, input_size}, type) * 0.7;
  }
  static Tensor weights(torch::ScalarType type) {
    std::vector<std::int64_t> sizes{input_size, classes * output_size};
    if (GetParam().own) sizes.insert(sizes.begin(), inputs);
    return torch::randn(sizes, type) * 0.5;
  }
  static Tensor routed(const Tensor& u, const Tensor& weight) {
    return route(u, weight, classes, GetParam().options);
  }
};

INSTANTIATE_TEST_SUITE_P(All, CapsuleLayer, ::testing::ValuesIn(all_layers()),
                         [](const auto& layer) { return layer.param.name; });

TEST_P(CapsuleLayer, AnImageDoesNotDependOnTheOthersOfItsBatch) {
  torch::manual_seed(1);
  // In double: a product of one row is rounded differently from one of eleven rows, and routing
  // amplifies the difference.
  const Tensor u = capsules(11, torch::kFloat64);
  const Tensor w = weights(torch::kFloat64);
  const Tensor together = routed(u, w);
  for (std::int64_t image = 0; image < 11; ++image) {
    const Tensor alone = routed(u.narrow(0, image, 1), w)[0];
    EXPECT_LT((alone - together[image]).abs().max().item<double>(), 1e-12) << image;
  }
}

TEST_P(CapsuleLayer, TheOrderOfInputCapsulesWithTheirWeightsDoesNotMatter) {
  torch::manual_seed(2);
  const Tensor u = capsules(3, torch::kFloat64);
  const Tensor w = weights(torch::kFloat64);
  const Tensor order = torch::randperm(inputs);
  const Tensor permuted =
      routed(u.index_select(1, order), GetParam().own ? w.index_select(0, order) : w);
  EXPECT_LT((permuted - routed(u, w)).abs().max().item<double>(), 1e-12);
}

TEST_P(CapsuleLayer, CouplingsOfAnInputCapsuleSumToOneOverOutputCapsules) {
  torch::manual_seed(3);
  const Tensor couplings = routing_couplings(capsules(3, torch::kFloat64), weights(torch::kFloat64),
                                             classes, GetParam().options);
  EXPECT_LT((couplings.sum(2) - 1).abs().max().item<double>(), 1e-12);
  EXPECT_GT((couplings - 1.0 / classes).abs().max().item<double>(), 1e-3);  // routing had an effect
}

TEST_P(CapsuleLayer, GradientsAtZeroAreFinite) {
  for (const torch::ScalarType type : {torch::kFloat32, torch::kFloat64}) {
    const Tensor u = torch::zeros({2, inputs, input_size}, type).requires_grad_(true);
    const Tensor w = weights(type).requires_grad_(true);
    const Tensor v = routed(u, w);
    v.sum().backward();
    for (const Tensor& tensor : {v, u.grad(), w.grad()}) {
      EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>());
    }
  }
}

void squash_in_place(std::vector<double>& s, SquashForm form, double epsilon) {
  double square = 0;
  for (const double x : s) square += x * x;
  for (double& x : s) {
    switch (form) {
      case SquashForm::epsilon_in_root:
        x *= square / (1 + square) / std::sqrt(square + epsilon);
        break;
      case SquashForm::epsilon_after_root:
        x *= square / (1 + square) / (std::sqrt(square) + epsilon);
        break;
      case SquashForm::tanh:
        x = std::tanh(x);
        break;
      case SquashForm::sigmoid:
        x = 1 / (1 + std::exp(-x));
        break;
    }
  }
}

/// Values [rows][columns], or [rows][columns][third].
using Matrix = std::vector<std::vector<double>>;
using Cube = std::vector<Matrix>;

/// û of one image.
Cube predicted_by_loops(const Tensor& u, const Tensor& weight, const Layer& layer) {
  Cube predicted;
  for (std::int64_t i = 0; i < inputs; ++i) {
    const Tensor matrix = layer.own ? weight[i] : weight;
    Matrix of_input;
    for (std::int64_t j = 0; j < classes; ++j) {
      std::vector<double> capsule;
      for (std::int64_t o = 0; o < output_size; ++o) {
        double sum = 0;
        for (std::int64_t d = 0; d < input_size; ++d) {
          sum += matrix[d][j * output_size + o].item<double>() * u[i][d].item<double>();
        }
        capsule.push_back(sum);
      }
      of_input.push_back(capsule);
    }
    predicted.push_back(of_input);
  }
  return predicted;
}

/// Procedure 1 of Sabour et al. for one image, in plain loops.
std::vector<double> by_loops(const Tensor& u, const Tensor& weight, const Layer& layer) {
  const Cube predicted = predicted_by_loops(u, weight, layer);
  Matrix logits(inputs, std::vector<double>(classes));
  Matrix v;
  for (std::int64_t t = 0; t < layer.options.iterations; ++t) {
    v.assign(classes, std::vector<double>(output_size));
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      double sum = 0;
      for (const double b : logits[i]) sum += std::exp(b);
      for (std::size_t j = 0; j < v.size(); ++j) {
        for (std::size_t o = 0; o < v[j].size(); ++o) {
          v[j][o] += std::exp(logits[i][j]) / sum * predicted[i][j][o];
        }
      }
    }
    for (auto& capsule : v) squash_in_place(capsule, layer.options.squash, layer.options.epsilon);
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      for (std::size_t j = 0; j < v.size(); ++j) {
        double agreement = 0;
        for (std::size_t o = 0; o < v[j].size(); ++o) agreement += predicted[i][j][o] * v[j][o];
        logits[i][j] = agreement + (layer.options.logits == Logits::accumulate ? logits[i][j] : 0);
      }
    }
  }
  std::vector<double> all;
  for (const auto& capsule : v) all.insert(all.end(), capsule.begin(), capsule.end());
  return all;
}

TEST_P(CapsuleLayer, EqualsLoops) {
  torch::manual_seed(4);
  const torch::NoGradGuard no_gradient;
  const Tensor u = capsules(2, torch::kFloat64);
  const Tensor w = weights(torch::kFloat64);
  const Tensor exact = routed(u, w).flatten(1);
  const Tensor single = routed(u.to(torch::kFloat32), w.to(torch::kFloat32)).flatten(1);
  for (std::int64_t image = 0; image < 2; ++image) {
    const std::vector<double> expected = by_loops(u[image], w, GetParam());
    for (std::int64_t at = 0; at < classes * output_size; ++at) {
      const double value = expected[static_cast<std::size_t>(at)];
      EXPECT_NEAR(exact[image][at].item<double>(), value, 1e-12);
      EXPECT_NEAR(single[image][at].item<double>(), value, 1e-5);
    }
  }
}

TEST_P(CapsuleLayer, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(5);
  const Tensor u = capsules(3, torch::kFloat64).requires_grad_(true);
  const Tensor w = weights(torch::kFloat64).requires_grad_(true);
  const Tensor direction = torch::randn({3, classes, output_size}, torch::kFloat64);
  test::expect_gradients([&] { return (routed(u, w) * direction).sum(); }, {u, w});
}

TEST_P(CapsuleLayer, ThreadsDoNotChangeAByte) {
  torch::manual_seed(6);
  const Tensor u = capsules(13, torch::kFloat32);
  const Tensor w = weights(torch::kFloat32);
  const auto with_threads = [&](int count) {
    const test::Threads threads(count);
    const Tensor a = u.clone().requires_grad_(true);
    const Tensor b = w.clone().requires_grad_(true);
    const Tensor v = routed(a, b);
    v.square().sum().backward();
    return std::vector<Tensor>{v.detach(), a.grad(), b.grad()};
  };
  const std::vector<Tensor> one = with_threads(1);
  for (const int count : {2, 5}) {
    const std::vector<Tensor> more = with_threads(count);
    for (std::size_t at = 0; at < one.size(); ++at) {
      EXPECT_TRUE(torch::equal(one[at], more[at])) << count << " threads, tensor " << at;
    }
  }
}

}  // namespace capsule_layers_test
}  // namespace seam::nn
