#include "proxy_nca.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

namespace {

using seam::Tensor;
using seam::testing::Harness;

seam::Packet batch(float shift) {
  seam::Packet packet;
  packet.set(seam::field::embedding, torch::arange(12.0F).view({3, 4}) + shift);
  packet.set(seam::field::categories, {0, 2, 1});
  return packet;
}

const auto conformance = seam::testing::conformance<ProxyNca>({
    .parameters = {{"classes", std::int64_t{3}}, {"size", std::int64_t{4}}},
    .packets =
        [](Harness&) {
          return std::vector{batch(0), batch(1)};
        },
    .training = true,
});

TEST(ProxyNcaLoss, HandComputed) {
  // x lies on its proxy; the others are at squared distances 2 and 4.
  const Tensor proxies = torch::tensor({{3.0, 0.0}, {0.0, 1.0}, {-2.0, 0.0}}, torch::kFloat64);
  const Tensor embedding = torch::tensor({{5.0, 0.0}}, torch::kFloat64);
  const double loss =
      proxy_nca(embedding, proxies, torch::tensor({0}, torch::kInt64)).item<double>();
  EXPECT_NEAR(loss, std::log(std::exp(-2.0) + std::exp(-4.0)), 1e-12);
}

TEST(ProxyNcaLoss, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(1);
  const Tensor embedding = torch::randn({4, 5}, torch::kFloat64);
  const Tensor proxies = torch::randn({3, 5}, torch::kFloat64).requires_grad_(true);
  const Tensor categories = torch::tensor({0, 2, 1, 2}, torch::kInt64);
  proxy_nca(embedding, proxies, categories).backward();
  const torch::NoGradGuard no_gradient;
  for (int at = 0; at < 15; ++at) {
    const auto at_step = [&](double step) {
      Tensor moved = proxies.clone();
      moved.view(-1)[at] += step;
      return proxy_nca(embedding, moved, categories).item<double>();
    };
    EXPECT_NEAR(proxies.grad().view(-1)[at].item<double>(), (at_step(1e-6) - at_step(-1e-6)) / 2e-6,
                1e-7);
  }
}

TEST(ProxyNca, ACategoryWithoutAProxyIsNamed) {
  Harness harness("proxies", std::make_unique<ProxyNca>());
  seam::Packet packet = batch(0);
  packet[seam::field::categories][1] = 9;
  harness.set("classes", 3).set("size", 4).push(packet).finish();
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_STREQ(harness.errors()[0].what(),
               "category 9 has no proxy: there are 3 (parameter 'classes')");
}

TEST(ProxyNca, AddsToALossBeforeIt) {
  Harness harness("proxies", std::make_unique<ProxyNca>());
  seam::Packet packet = batch(0);
  packet.set(seam::field::loss, torch::full({}, 100.0F));
  harness.set("classes", 3).set("size", 4).set("weight", 2).push(packet).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  EXPECT_NEAR(harness.outputs().at(0)[seam::field::loss].item<double>(),
              100 + 2 * harness.metric("loss"), 1e-4);
}

}  // namespace
