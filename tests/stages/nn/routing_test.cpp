#include "stages/nn/routing.hpp"

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/normalization.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/tensor.hpp>

#include "tests/stages/nn/gradient_check.hpp"
#include "tests/stages/nn/routing_reference.hpp"

namespace seam::nn::routing_test {

using torch::Tensor;

struct Case {
  std::int64_t inputs, input_size, classes, output_size;
};
// The published sizes, one below and one above a block of capsules, and sizes that do not fit
// vectors.
const std::vector<Case> cases = {
    {96, 16, 23, 16}, {31, 16, 23, 16}, {33, 8, 5, 12}, {7, 20, 3, 4}, {1, 3, 1, 2}};

std::vector<RoutingOptions> all_options() {
  std::vector<RoutingOptions> all;
  for (const Logits logits : {Logits::replace, Logits::accumulate}) {
    for (std::int64_t iterations = 1; iterations <= 4; ++iterations) {
      RoutingOptions options;
      options.logits = logits;
      options.iterations = iterations;
      all.push_back(options);
    }
  }
  return all;
}

Tensor capsules(std::int64_t batch, const Case& c, torch::ScalarType type = torch::kFloat32) {
  return squash_reference(torch::randn({batch, c.inputs, c.input_size}, type));
}
Tensor weights(const Case& c, torch::ScalarType type = torch::kFloat32) {
  return torch::randn({c.input_size, c.classes * c.output_size}, type) * 0.5;
}

struct Gradients {
  Tensor v, u, weight;
};
using Routing = Tensor (*)(const Tensor&, const Tensor&, std::int64_t, const RoutingOptions&);

Gradients run(Routing routing, const Tensor& u, const Tensor& weight, std::int64_t classes,
              const RoutingOptions& options = {}) {
  const Tensor a = u.detach().clone().requires_grad_(true);
  const Tensor b = weight.detach().clone().requires_grad_(true);
  const Tensor v = routing(a, b, classes, options);
  const Tensor direction =
      torch::linspace(-1, 2, v.numel(), v.options().requires_grad(false)).view(v.sizes());
  (v * direction).sum().backward();
  return {v.detach(), a.grad(), b.grad()};
}

double largest_difference(const Tensor& a, const Tensor& b) {
  return ((a - b).abs().max() / b.abs().max().clamp_min(1)).item<double>();
}

TEST(Routing, FactoredEqualsDirect) {
  for (const bool plain : {false, true}) {  // by the kernels in float, by tensor operations
    const torch::ScalarType type = plain ? torch::kFloat64 : torch::kFloat32;
    const double tolerance = plain ? 1e-12 : 1e-5;
    torch::manual_seed(1);
    for (const Case& c : cases) {
      const Tensor u = capsules(3, c, type);
      const Tensor w = weights(c, type);
      for (const RoutingOptions& options : all_options()) {
        SCOPED_TRACE(std::to_string(c.inputs) + " inputs, " + std::to_string(options.iterations));
        const Gradients direct = run(test::route_by_predictions, u, w, c.classes, options);
        const Gradients factored = run(plain ? route_plain : route, u, w, c.classes, options);
        EXPECT_LT(largest_difference(factored.v, direct.v), tolerance);
        EXPECT_LT(largest_difference(factored.u, direct.u), tolerance);
        EXPECT_LT(largest_difference(factored.weight, direct.weight), tolerance);
      }
    }
  }
}

/// The number of elements in the largest result of a LibTorch operation since it was set to 0.
std::atomic<std::int64_t>& largest_result() {
  static std::atomic<std::int64_t> numbers{0};
  return numbers;
}

std::int64_t largest_result_of(Routing routing, const Tensor& u, const Tensor& weight,
                               std::int64_t classes) {
  const Tensor a = u.detach().requires_grad_(true);
  const Tensor b = weight.detach().requires_grad_(true);
  const auto start = [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
    return nullptr;
  };
  const auto end = [](const at::RecordFunction& operation, at::ObserverContext*) {
    for (const c10::IValue& output : operation.outputs()) {
      if (!output.isTensor() || !output.toTensor().defined()) continue;
      largest_result() = std::max(largest_result().load(), output.toTensor().numel());
    }
  };
  largest_result() = 0;
  const at::CallbackHandle handle =
      at::addGlobalCallback(at::RecordFunctionCallback(start, end).needsOutputs(true));
  routing(a, b, classes, {}).sum().backward();
  at::removeCallback(handle);
  return largest_result();
}

TEST(Routing, FactoredInTensorOperationsNeverMakesThePredictions) {
  const Case c{512, 16, 23, 16};
  const Tensor u = capsules(2, c);
  const Tensor w = weights(c);
  EXPECT_EQ(largest_result_of(route_plain, u, w, c.classes), 2 * c.inputs * c.classes);
  EXPECT_GE(largest_result_of(test::route_by_predictions, u, w, c.classes),
            2 * c.inputs * c.classes * c.output_size);
}

TEST(Routing, AutocastLeavesTensorOperationsAsPrecise) {
  torch::manual_seed(13);
  const Case c = cases[0];
  const Tensor u = capsules(2, c);
  const Tensor w = weights(c);
  const Tensor expected = route_plain(u, w, c.classes);
  const Autocast autocast(torch::kCPU, Precision::bfloat16);
  EXPECT_TRUE(torch::equal(route_plain(u, w, c.classes), expected));
}

TEST(Routing, DoesNotDependOnBatchMates) {
  torch::manual_seed(3);
  const Case c = cases[0];
  const Tensor u = capsules(5, c);
  const Tensor w = weights(c);
  const Tensor together = route(u, w, c.classes);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(torch::equal(route(u.narrow(0, i, 1), w, c.classes)[0], together[i])) << i;
  }
}

TEST(Routing, LargeAgreementsDoNotOverflow) {
  torch::manual_seed(6);
  const Case c = cases[0];
  const Gradients large = run(route, capsules(2, c) * 50, weights(c) * 50, c.classes);
  for (const Tensor& tensor : {large.v, large.u, large.weight}) {
    EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>());
  }
}

TEST(Routing, RefusesShapesThatDoNotFit) {
  const Tensor u = torch::zeros({1, 4, 16});
  EXPECT_REFUSED((void)route(u, torch::zeros({8, 32}), 2), Fault::internal,
                 "the weight must be [dimensions of an input capsule");
  EXPECT_REFUSED((void)route(u, torch::zeros({16, 33}), 2), Fault::internal,
                 "the weight's columns must be a multiple");
  EXPECT_REFUSED((void)route(u[0], torch::zeros({16, 32}), 2), Fault::internal,
                 "input capsules must be [images, capsules, dimensions]");
  EXPECT_REFUSED((void)route(u, torch::zeros({3, 16, 32}), 2), Fault::internal,
                 "the weight must be [dimensions of an input capsule");
  RoutingOptions none;
  none.iterations = 0;
  EXPECT_REFUSED((void)route(u, torch::zeros({16, 32}), 2, none), Fault::internal,
                 "at least one iteration is needed");
  RoutingOptions bent;
  bent.agreement = Agreement::cosine;
  bent.squash = SquashForm::tanh;
  EXPECT_REFUSED((void)route(u, torch::zeros({16, 32}), 2, bent), Fault::internal,
                 "whose direction tanh changes");
}

/// Checks every form for errors of well-known capsule networks: logits that images of a batch
/// share, infinite gradients at zero, a softmax over the wrong axis.
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

/// The layer, named after its options.
Layer layer_of(bool own, const RoutingOptions& options) {
  static const std::map<SquashForm, std::string> squashes{
      {SquashForm::epsilon_in_root, "_squash"},
      {SquashForm::epsilon_after_root, "_squash_after_root"},
      {SquashForm::tanh, "_tanh"},
      {SquashForm::none, ""}};
  std::string name = (own ? "own" : "shared") + squashes.at(options.squash);
  if (options.agreement == Agreement::cosine) name += "_cosine";
  name += options.logits == Logits::replace ? "_replace" : "_accumulate";
  if (options.softmax == RoutingSoftmax::input_capsules) name += "_over_inputs";
  if (options.iterations == 1) name += "_once";
  return {name, own, options};
}

std::vector<Layer> all_layers() {
  std::vector<Layer> layers;
  for (const bool own : {false, true}) {
    for (const RoutingSoftmax softmax : {RoutingSoftmax::classes, RoutingSoftmax::input_capsules}) {
      for (const SquashForm squash : {SquashForm::epsilon_in_root, SquashForm::epsilon_after_root,
                                      SquashForm::tanh, SquashForm::none}) {
        RoutingOptions options{.factor = 3, .softmax = softmax, .squash = squash};
        options.iterations = 1;
        layers.push_back(layer_of(own, options));
        options.iterations = 4;
        for (const Logits logits : {Logits::replace, Logits::accumulate}) {
          options.logits = logits;
          options.agreement = Agreement::product;
          // Without a squash, products of agreements grow from iteration to iteration.
          if (squash != SquashForm::none) layers.push_back(layer_of(own, options));
          options.agreement = Agreement::cosine;
          if (squash != SquashForm::tanh) layers.push_back(layer_of(own, options));
        }
      }
    }
  }
  return layers;
}

class CapsuleLayer : public ::testing::TestWithParam<Layer> {
 protected:
  static Tensor drawn(std::int64_t images, torch::ScalarType type) {
    return torch::randn({images, inputs, input_size}, type) * 0.7;
  }
  static Tensor matrices(torch::ScalarType type) {
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
  const Tensor u = drawn(11, torch::kFloat64);
  const Tensor w = matrices(torch::kFloat64);
  const Tensor together = routed(u, w);
  for (std::int64_t image = 0; image < 11; ++image) {
    const Tensor alone = routed(u.narrow(0, image, 1), w)[0];
    EXPECT_LT((alone - together[image]).abs().max().item<double>(), 1e-12) << image;
  }
}

TEST_P(CapsuleLayer, TheOrderOfInputCapsulesWithTheirWeightsDoesNotMatter) {
  torch::manual_seed(2);
  const Tensor u = drawn(3, torch::kFloat64);
  const Tensor w = matrices(torch::kFloat64);
  const Tensor order = torch::randperm(inputs);
  const Tensor permuted =
      routed(u.index_select(1, order), GetParam().own ? w.index_select(0, order) : w);
  EXPECT_LT((permuted - routed(u, w)).abs().max().item<double>(), 1e-12);
}

TEST_P(CapsuleLayer, GradientsAtZeroAreFinite) {
  for (const torch::ScalarType type : {torch::kFloat32, torch::kFloat64}) {
    const Tensor u = torch::zeros({2, inputs, input_size}, type).requires_grad_(true);
    const Tensor w = matrices(type).requires_grad_(true);
    const Tensor v = routed(u, w);
    v.sum().backward();
    for (const Tensor& tensor : {v, u.grad(), w.grad()}) {
      EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>());
    }
  }
}

TEST(Routing, CosinesDoNotDependOnTheLengthOfCapsules) {
  torch::manual_seed(6);
  const Tensor u = torch::randn({2, inputs, input_size}) * 1e-4;
  const Tensor w = torch::randn({inputs, input_size, classes * output_size});
  RoutingOptions options;
  options.agreement = Agreement::cosine;
  options.factor = 5;
  options.squash = SquashForm::none;
  const Tensor whole = torch::nn::functional::normalize(
      route(u, w, classes, options), torch::nn::functional::NormalizeFuncOptions().dim(2));
  options.squash = SquashForm::epsilon_in_root;  // of short capsules, it leaves next to nothing
  const Tensor squashed = torch::nn::functional::normalize(
      route(u, w, classes, options),
      torch::nn::functional::NormalizeFuncOptions().dim(2).eps(1e-30));
  EXPECT_LT((whole - squashed).abs().max().item<double>(), 1e-3);
}

TEST_P(CapsuleLayer, EqualsRoutingByPredictions) {
  torch::manual_seed(4);
  const torch::NoGradGuard no_gradient;
  const Tensor u = drawn(2, torch::kFloat64);
  const Tensor w = matrices(torch::kFloat64);
  const Tensor expected = test::route_by_predictions(u, w, classes, GetParam().options);
  const Tensor plain = route_plain(u, w, classes, GetParam().options);
  const Tensor single = routed(u.to(torch::kFloat32), w.to(torch::kFloat32));
  EXPECT_LT((routed(u, w) - expected).abs().max().item<double>(), 1e-12);
  EXPECT_LT((plain - expected).abs().max().item<double>(), 1e-12);
  EXPECT_LT((single - expected).abs().max().item<double>(), 1e-5);
}

TEST_P(CapsuleLayer, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(5);
  const Tensor u = drawn(3, torch::kFloat64).requires_grad_(true);
  const Tensor w = matrices(torch::kFloat64).requires_grad_(true);
  const Tensor direction = torch::randn({3, classes, output_size}, torch::kFloat64);
  test::expect_gradients([&] { return (routed(u, w) * direction).sum(); }, {u, w});
}

TEST_P(CapsuleLayer, ThreadsDoNotChangeAByte) {
  torch::manual_seed(6);
  const Tensor u = drawn(13, torch::kFloat32);
  const Tensor w = matrices(torch::kFloat32);
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

}  // namespace seam::nn::routing_test
