#include "stages/nn/routing.hpp"

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/tensor.hpp>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace routing_test {

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
    for (const RoutingGradient gradient :
         {RoutingGradient::all_iterations, RoutingGradient::last_iteration}) {
      for (std::int64_t iterations = 1; iterations <= 4; ++iterations) {
        RoutingOptions options;
        options.logits = logits;
        options.gradient = gradient;
        options.iterations = iterations;
        all.push_back(options);
      }
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
Gradients run(const Tensor& u, const Tensor& weight, std::int64_t classes, RoutingOptions options,
              RoutingForm form) {
  options.form = form;
  const Tensor a = u.detach().clone().requires_grad_(true);
  const Tensor b = weight.detach().clone().requires_grad_(true);
  const Tensor v = route(a, b, classes, options);
  const Tensor direction =
      torch::linspace(-1, 2, v.numel(), v.options().requires_grad(false)).view(v.sizes());
  (v * direction).sum().backward();
  return {v.detach(), a.grad(), b.grad()};
}

double largest_difference(const Tensor& a, const Tensor& b) {
  return ((a - b).abs().max() / b.abs().max().clamp_min(1)).item<double>();
}

TEST(Routing, FactoredEqualsDirect) {
  torch::manual_seed(1);
  for (const Case& c : cases) {
    const Tensor u = capsules(3, c);
    const Tensor w = weights(c);
    for (const RoutingOptions& options : all_options()) {
      const Gradients direct = run(u, w, c.classes, options, RoutingForm::direct);
      const Gradients factored = run(u, w, c.classes, options, RoutingForm::factored);
      EXPECT_LT(largest_difference(factored.v, direct.v), 1e-5);
      EXPECT_LT(largest_difference(factored.u, direct.u), 1e-5);
      EXPECT_LT(largest_difference(factored.weight, direct.weight), 1e-5)
          << c.inputs << " inputs, " << options.iterations << " iterations";
    }
  }
}

/// The factored form by LibTorch's operations.
Gradients run_plain(const Tensor& u, const Tensor& weight, std::int64_t classes,
                    const RoutingOptions& options) {
  const Tensor a = u.detach().clone().requires_grad_(true);
  const Tensor b = weight.detach().clone().requires_grad_(true);
  const Tensor v = route_plain(a, b, classes, options);
  const Tensor direction =
      torch::linspace(-1, 2, v.numel(), v.options().requires_grad(false)).view(v.sizes());
  (v * direction).sum().backward();
  return {v.detach(), a.grad(), b.grad()};
}

TEST(Routing, FactoredInTensorOperationsEqualsDirectInDouble) {
  torch::manual_seed(11);
  for (const Case& c : cases) {
    const Tensor u = capsules(3, c, torch::kFloat64);
    const Tensor w = weights(c, torch::kFloat64);
    for (const RoutingOptions& options : all_options()) {
      const Gradients direct = run(u, w, c.classes, options, RoutingForm::direct);
      const Gradients plain = run_plain(u, w, c.classes, options);
      EXPECT_LT(largest_difference(plain.v, direct.v), 1e-12);
      EXPECT_LT(largest_difference(plain.u, direct.u), 1e-12);
      EXPECT_LT(largest_difference(plain.weight, direct.weight), 1e-12)
          << c.inputs << " inputs, " << options.iterations << " iterations";
    }
  }
}

TEST(Routing, GradientsInTensorOperationsAreThoseOfFiniteDifferences) {
  torch::manual_seed(12);
  const Case c{9, 5, 4, 3};
  for (const RoutingOptions& options : all_options()) {
    if (options.gradient == RoutingGradient::last_iteration) continue;
    const Tensor u = capsules(2, c, torch::kFloat64).requires_grad_(true);
    const Tensor w = weights(c, torch::kFloat64).requires_grad_(true);
    const Tensor direction = torch::randn({2, c.classes, c.output_size}, torch::kFloat64);
    test::expect_gradients(
        [&] { return (route_plain(u, w, c.classes, options) * direction).sum(); }, {u, w});
  }
}

/// The number of elements in the largest result of a LibTorch operation since it was set to 0.
std::atomic<std::int64_t>& largest_result() {
  static std::atomic<std::int64_t> numbers{0};
  return numbers;
}

std::int64_t largest_result_of(RoutingForm form, const Tensor& u, const Tensor& weight,
                               std::int64_t classes) {
  RoutingOptions options;
  options.form = form;
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
  route_plain(a, b, classes, options).sum().backward();
  at::removeCallback(handle);
  return largest_result();
}

TEST(Routing, FactoredInTensorOperationsNeverMakesThePredictions) {
  const Case c{512, 16, 23, 16};
  const Tensor u = capsules(2, c);
  const Tensor w = weights(c);
  EXPECT_EQ(largest_result_of(RoutingForm::factored, u, w, c.classes), 2 * c.inputs * c.classes);
  EXPECT_GE(largest_result_of(RoutingForm::direct, u, w, c.classes),
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

TEST(Routing, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(2);
  const Case c{9, 5, 4, 3};
  for (RoutingOptions options : all_options()) {
    if (options.gradient == RoutingGradient::last_iteration) continue;
    const Tensor u = capsules(2, c, torch::kFloat64).requires_grad_(true);
    const Tensor w = weights(c, torch::kFloat64).requires_grad_(true);
    const Tensor direction = torch::randn({2, c.classes, c.output_size}, torch::kFloat64);
    test::expect_gradients([&] { return (route(u, w, c.classes, options) * direction).sum(); },
                           {u, w});
  }
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

TEST(Routing, OrderOfInputCapsulesDoesNotMatter) {
  torch::manual_seed(4);
  const Case c = cases[0];
  const Tensor u = capsules(2, c);
  const Tensor w = weights(c);
  const Tensor shuffled = u.index_select(1, torch::randperm(c.inputs));
  EXPECT_LT(largest_difference(route(shuffled, w, c.classes), route(u, w, c.classes)), 1e-6);
}

TEST(Routing, CouplingsOfAnInputCapsuleSumToOne) {
  torch::manual_seed(5);
  for (const Case& c : cases) {
    for (RoutingOptions options : all_options()) {
      const Tensor u = capsules(2, c);
      const Tensor w = weights(c);
      const Tensor factored = routing_couplings(u, w, c.classes, options);
      EXPECT_LT((factored.sum(2) - 1).abs().max().item<double>(), 1e-5);
      options.form = RoutingForm::direct;
      EXPECT_LT(largest_difference(factored, routing_couplings(u, w, c.classes, options)), 1e-5);
    }
  }
}

TEST(Routing, IsFiniteForZeroCapsules) {
  const Case c = cases[0];
  const Gradients at_zero = run(torch::zeros({2, c.inputs, c.input_size}), weights(c), c.classes,
                                {}, RoutingForm::factored);
  for (const Tensor& tensor : {at_zero.v, at_zero.u, at_zero.weight}) {
    EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>());
  }
}

TEST(Routing, LargeAgreementsDoNotOverflow) {
  torch::manual_seed(6);
  const Case c = cases[0];
  const Gradients large =
      run(capsules(2, c) * 50, weights(c) * 50, c.classes, {}, RoutingForm::factored);
  for (const Tensor& tensor : {large.v, large.u, large.weight}) {
    EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>());
  }
}

TEST(Routing, ThreadsDoNotChangeAByte) {
  torch::manual_seed(7);
  const Case c{257, 16, 23, 16};
  const Tensor u = capsules(13, c);
  const Tensor w = weights(c);
  const auto with_threads = [&](int count) {
    const test::Threads threads(count);
    return run(u, w, c.classes, {}, RoutingForm::factored);
  };
  const Gradients one = with_threads(1);
  const Gradients eight = with_threads(8);
  EXPECT_TRUE(torch::equal(one.v, eight.v));
  EXPECT_TRUE(torch::equal(one.u, eight.u));
  EXPECT_TRUE(torch::equal(one.weight, eight.weight));
}

/// Routing with separate weights [N,D,K*O] for each input capsule, capsule by capsule.
Tensor by_loops(const Tensor& u, const Tensor& weight, std::int64_t classes,
                const RoutingOptions& options) {
  const std::int64_t size = weight.size(2) / classes;
  std::vector<Tensor> images;
  for (std::int64_t b = 0; b < u.size(0); ++b) {
    Tensor logits = torch::zeros({u.size(1), classes}, torch::kFloat64);
    Tensor v;
    for (std::int64_t t = 0; t < options.iterations; ++t) {
      const Tensor couplings =
          torch::softmax(logits, options.softmax == RoutingSoftmax::classes ? 1 : 0);
      std::vector<Tensor> of_classes;
      Tensor agreement = torch::zeros_like(logits);
      for (std::int64_t k = 0; k < classes; ++k) {
        Tensor s = torch::zeros({size}, torch::kFloat64);
        const auto prediction = [&](std::int64_t i) {
          return u[b][i].matmul(weight[i].narrow(1, k * size, size));
        };
        for (std::int64_t i = 0; i < u.size(1); ++i) s += couplings[i][k] * prediction(i);
        of_classes.push_back(squash_reference(s, options.squash, options.epsilon));
        for (std::int64_t i = 0; i < u.size(1); ++i) {
          agreement[i][k] = prediction(i).dot(of_classes.back());
        }
      }
      v = torch::stack(of_classes);
      logits = options.logits == Logits::replace ? agreement : logits + agreement;
    }
    images.push_back(v);
  }
  return torch::stack(images);
}

std::vector<RoutingOptions> options_without_kernels() {
  std::vector<RoutingOptions> all;
  for (const RoutingSoftmax softmax : {RoutingSoftmax::classes, RoutingSoftmax::input_capsules}) {
    for (const SquashForm squash : {SquashForm::epsilon_in_root, SquashForm::epsilon_after_root,
                                    SquashForm::tanh, SquashForm::sigmoid}) {
      for (const Logits logits : {Logits::replace, Logits::accumulate}) {
        RoutingOptions options;
        options.softmax = softmax;
        options.squash = squash;
        options.logits = logits;
        all.push_back(options);
      }
    }
  }
  return all;
}

TEST(Routing, WithWeightsOfItsOwnEachCapsulePredictsByThem) {
  torch::manual_seed(21);
  const torch::NoGradGuard no_gradient;
  const Case c{7, 5, 4, 3};
  const Tensor u = capsules(2, c, torch::kFloat64);
  const Tensor own =
      torch::randn({c.inputs, c.input_size, c.classes * c.output_size}, torch::kFloat64);
  const Tensor shared = weights(c, torch::kFloat64);
  const Tensor repeated = shared.expand({c.inputs, c.input_size, shared.size(1)});
  for (const RoutingOptions& options : options_without_kernels()) {
    EXPECT_LT(
        largest_difference(route(u, own, c.classes, options), by_loops(u, own, c.classes, options)),
        1e-12);
    // Separate weights that are equal are the same as shared ones, in either form.
    for (const RoutingForm form : {RoutingForm::factored, RoutingForm::direct}) {
      RoutingOptions in_form = options;
      in_form.form = form;
      EXPECT_LT(largest_difference(route(u, shared, c.classes, in_form),
                                   by_loops(u, repeated, c.classes, options)),
                1e-12);
    }
  }
}

TEST(Routing, GradientsWithoutKernelsAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(22);
  const Case c{6, 5, 3, 4};
  for (const RoutingOptions& options : options_without_kernels()) {
    for (const bool own : {false, true}) {
      const Tensor u = capsules(2, c, torch::kFloat64).requires_grad_(true);
      const Tensor w = (own ? torch::randn({c.inputs, c.input_size, c.classes * c.output_size},
                                           torch::kFloat64) *
                                  0.5
                            : weights(c, torch::kFloat64))
                           .requires_grad_(true);
      const Tensor direction = torch::randn({2, c.classes, c.output_size}, torch::kFloat64);
      test::expect_gradients([&] { return (route(u, w, c.classes, options) * direction).sum(); },
                             {u, w});
    }
  }
}

TEST(Routing, CouplingsSumToOneOverTheAskedAxis) {
  torch::manual_seed(23);
  const Case c{9, 4, 3, 5};
  for (const RoutingOptions& options : options_without_kernels()) {
    const Tensor couplings = routing_couplings(capsules(2, c), weights(c), c.classes, options);
    const std::int64_t axis = options.softmax == RoutingSoftmax::classes ? 2 : 1;
    EXPECT_LT((couplings.sum(axis) - 1).abs().max().item<double>(), 1e-5);
  }
}

TEST(Routing, ThreadsDoNotChangeAByteOfOwnWeights) {
  torch::manual_seed(24);
  const Case c{288, 16, 46, 16};
  const Tensor u = capsules(13, c);
  const Tensor w = torch::randn({c.inputs, c.input_size, c.classes * c.output_size}) * 0.1;
  const auto with_threads = [&](int count) {
    const test::Threads threads(count);
    return run(u, w, c.classes, {}, RoutingForm::direct);
  };
  const Gradients one = with_threads(1);
  for (const int count : {2, 3, 8}) {
    const Gradients more = with_threads(count);
    EXPECT_TRUE(torch::equal(one.v, more.v)) << count;
    EXPECT_TRUE(torch::equal(one.u, more.u)) << count;
    EXPECT_TRUE(torch::equal(one.weight, more.weight)) << count;
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
}

}  // namespace routing_test
}  // namespace seam::nn
