#include "stages/nn/routing_statistics.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <vector>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn::routing_statistics_test {

using torch::Tensor;

RoutingOptions cosine(double factor) {
  RoutingOptions options;
  options.agreement = Agreement::cosine;
  options.factor = factor;
  options.iterations = 3;
  options.squash = SquashForm::none;
  return options;
}

RoutingStatistics statistics_of(const RoutingOptions& options, std::int64_t images = 3) {
  torch::manual_seed(2);
  const Tensor u = torch::randn({images, 7, 4}, torch::kFloat64);
  const Tensor weight = torch::randn({7, 4, 5 * 6}, torch::kFloat64);
  return routing_statistics(u, weight, 5, options);
}

/// The couplings of two iterations by numbers.
TEST(RoutingStatistics, AreThoseOfCouplingsByLoops) {
  torch::manual_seed(3);
  const std::int64_t images = 2, capsules = 3, classes = 4, size = 2, wide = 5;
  const Tensor u = torch::randn({images, capsules, wide}, torch::kFloat64);
  for (const Tensor& weight : {torch::randn({capsules, wide, classes * size}, torch::kFloat64),
                               torch::randn({wide, classes * size}, torch::kFloat64)}) {
    double entropy = 0, cosine = 0, saturated = 0;
    for (std::int64_t n = 0; n < images; ++n) {
      std::vector<std::vector<Tensor>> predictions;
      std::vector<Tensor> first(classes, torch::zeros({size}, torch::kFloat64)), second = first;
      for (std::int64_t i = 0; i < capsules; ++i) {
        if (std::sqrt(u[n][i].dot(u[n][i]).item<double>()) > 0.9) saturated += 1;
        const Tensor w = weight.dim() == 3 ? weight[i] : weight;
        predictions.emplace_back();
        for (std::int64_t j = 0; j < classes; ++j) {
          predictions[i].push_back(u[n][i].matmul(w.slice(1, j * size, (j + 1) * size)));
          first[j] = first[j] + predictions[i][j] / 4;
        }
      }
      for (Tensor& v : first) {
        const double square = v.dot(v).item<double>();
        v = v * (square / (1 + square) / std::sqrt(square));
      }
      for (std::int64_t i = 0; i < capsules; ++i) {
        std::vector<double> couplings;
        double sum = 0;
        for (std::int64_t j = 0; j < classes; ++j) {
          couplings.push_back(std::exp(predictions[i][j].dot(first[j]).item<double>()));
          sum += couplings.back();
        }
        for (std::int64_t j = 0; j < classes; ++j) {
          const double c = couplings[j] / sum;
          entropy -= c * std::log(c) / std::log(4.0);
          second[j] = second[j] + c * predictions[i][j];
        }
      }
      for (std::int64_t j = 0; j < classes; ++j) {
        cosine += (first[j].dot(second[j]) / (first[j].norm() * second[j].norm())).item<double>();
      }
    }
    RoutingOptions options;
    options.iterations = 2;
    const RoutingStatistics found = routing_statistics(u, weight, classes, options);
    EXPECT_NEAR(found.entropy.value(), entropy / (images * capsules), 1e-6);
    EXPECT_NEAR(found.cosine.value(), cosine / (images * classes), 1e-6);
    EXPECT_NEAR(found.saturated.value(), saturated / (images * capsules), 1e-12);
  }
}

TEST(RoutingStatistics, TellWhetherRoutingRoutes) {
  const RoutingStatistics none = statistics_of(cosine(0));
  EXPECT_NEAR(none.entropy.value(), 1, 1e-12);
  EXPECT_NEAR(none.cosine.value(), 1, 1e-12);
  const RoutingStatistics much = statistics_of(cosine(1000));
  EXPECT_LT(much.entropy.value(), 0.05);
  EXPECT_LT(much.cosine.value(), 0.95);
  RoutingOptions over_inputs = cosine(0);
  over_inputs.softmax = RoutingSoftmax::input_capsules;
  EXPECT_NEAR(statistics_of(over_inputs).entropy.value(), 1, 1e-12);
}

TEST(RoutingStatistics, AreOnlyWhatHasAMeaning) {
  RoutingOptions options = cosine(10);
  options.iterations = 1;
  const RoutingStatistics found = statistics_of(options);
  EXPECT_FALSE(found.entropy || found.cosine || found.saturated);
}

TEST(RoutingStatistics, CountClassesWhoseCapsulesAreShort) {
  RoutingOptions options;
  options.iterations = 1;
  const Tensor u = torch::ones({2, 3, 1});
  const Tensor weight = torch::tensor({{1.0F, 1.0F, 1e-4F, 1.0F}});
  EXPECT_EQ(routing_statistics(u, weight, 4, options).dead, 0.25);
}

TEST(RoutingStatistics, AreTheSameForAnyNumberOfThreads) {
  torch::manual_seed(4);
  const Tensor u = torch::randn({9, 5000, 4});
  const Tensor weight = torch::randn({4, 3 * 8});
  std::vector<double> entropies, cosines;
  for (const int count : {1, 2, 5}) {
    const test::Threads threads(count);
    const RoutingStatistics found = routing_statistics(u, weight, 3, {});
    entropies.push_back(*found.entropy);
    cosines.push_back(*found.cosine);
  }
  EXPECT_EQ(entropies, std::vector<double>(3, entropies[0]));
  EXPECT_EQ(cosines, std::vector<double>(3, cosines[0]));
}

TEST(RoutingProbe, MeasuresOnceIfAsked) {
  const Tensor u = torch::rand({2, 3, 4});
  const Tensor weight = torch::rand({4, 5 * 6});
  RoutingProbe probe;
  EXPECT_TRUE(torch::equal(probe.route(u, weight, 5, {}), route(u, weight, 5, {})));
  EXPECT_FALSE(probe.take());
  probe.ask();
  (void)probe.route(u, weight, 5, {});
  (void)probe.route(torch::zeros_like(u), weight, 5, {});  // not measured: it has no saturation
  EXPECT_NEAR(probe.take().value().entropy.value(),
              routing_statistics(u, weight, 5, {}).entropy.value(), 1e-12);
  EXPECT_FALSE(probe.take());
  probe.ask();
  EXPECT_FALSE(probe.take());
  (void)probe.route(u, weight, 5, {});
  EXPECT_FALSE(probe.take());
}

}  // namespace seam::nn::routing_statistics_test
