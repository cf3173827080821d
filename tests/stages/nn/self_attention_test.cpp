#include "stages/nn/self_attention.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>

#include <cmath>
#include <vector>

#include "tests/stages/nn/network_properties.hpp"

namespace seam::nn::self_attention_test {

using torch::Tensor;

/// In double, so that no parameter is 0.
SelfAttention randomised(std::int64_t channels, std::int64_t reduction) {
  torch::manual_seed(7);
  SelfAttention net(channels, reduction);
  const torch::NoGradGuard no_gradient;
  net->to(torch::kFloat64);
  for (Tensor& parameter : net->parameters()) parameter.normal_(0, 0.7);
  return net;
}

/// Element by element, from the paper's equations.
Tensor attended_by_loops(const Tensor& x, SelfAttention& net) {
  const auto weights = net->named_parameters();
  const auto dense = [&](const std::string& part, const Tensor& token) {
    return weights[part + ".weight"].flatten(1).mv(token) + weights[part + ".bias"];
  };
  Tensor result = x.clone();
  for (std::int64_t n = 0; n < x.size(0); ++n) {
    for (std::int64_t t = 0; t < x.size(1); ++t) {
      std::vector<double> share;
      double sum = 0;
      for (std::int64_t s = 0; s < x.size(1); ++s) {
        share.push_back(
            std::exp(dense("query_conv", x[n][t]).dot(dense("key_conv", x[n][s])).item<double>()));
        sum += share.back();
      }
      for (std::int64_t s = 0; s < x.size(1); ++s) {
        result[n][t] += weights["gamma"].item<double>() * share[static_cast<std::size_t>(s)] / sum *
                        dense("value_conv", x[n][s]);
      }
    }
  }
  return result;
}

TEST(SelfAttention, EqualsLoops) {
  const torch::NoGradGuard no_gradient;
  SelfAttention net = randomised(6, 2);
  EXPECT_EQ(net->named_parameters()["key_conv.weight"].sizes(),
            (std::vector<std::int64_t>{3, 6, 1, 1}));
  const Tensor tokens = torch::randn({2, 5, 6}, torch::kFloat64);
  const Tensor expected = attended_by_loops(tokens, net);
  EXPECT_TRUE(torch::allclose(net(tokens), expected, 0, 1e-11));
  EXPECT_FALSE(torch::allclose(tokens, expected, 0.1, 0.1));
  // The pixels of a map are the tokens, row by row, whatever its layout in memory.
  const Tensor map = torch::randn({2, 6, 4, 3}, torch::kFloat64);
  const Tensor pixels = attended_by_loops(map.flatten(2).transpose(1, 2).contiguous(), net);
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    const Tensor result = net->forward_map(map.contiguous(format));
    EXPECT_TRUE(torch::allclose(result, pixels.transpose(1, 2).reshape(map.sizes()), 0, 1e-11));
  }
}

TEST(SelfAttention, BeginsAsTheIdentity) {
  SelfAttention net(16);
  EXPECT_EQ(net->named_parameters()["query_conv.weight"].size(0), 2);
  const Tensor tokens = torch::randn({2, 5, 16});
  EXPECT_TRUE(torch::equal(net(tokens), tokens));
  EXPECT_EQ(SelfAttention(4)->named_parameters()["query_conv.weight"].size(0), 1);
}

TEST(SelfAttention, OtherOrdersOfTokensGiveTheirOrders) {
  const torch::NoGradGuard no_gradient;
  SelfAttention net = randomised(4, 2);
  const Tensor tokens = torch::randn({1, 6, 4}, torch::kFloat64);
  const Tensor order = torch::tensor({3, 0, 5, 1, 4, 2});
  EXPECT_TRUE(torch::allclose(net(tokens.index_select(1, order)),
                              net(tokens).index_select(1, order), 0, 1e-12));
}

TEST(SelfAttention, AnImageIsTheSameInAnyBatch) {
  const torch::NoGradGuard no_gradient;
  SelfAttention net = randomised(4, 2);
  const Tensor tokens = torch::randn({11, 6, 4}, torch::kFloat64);
  EXPECT_TRUE(torch::allclose(net(tokens)[9], net(tokens.narrow(0, 9, 1))[0], 0, 1e-12));
}

TEST(SelfAttention, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads alone(1);  // many small passes
  SelfAttention net = randomised(4, 2);
  const Tensor tokens = torch::randn({3, 5, 4}, torch::kFloat64).requires_grad_();
  test::expect_gradients([&] { return net(tokens).square().sum(); },
                         test::with_weights({tokens}, *net));
}

TEST(SelfAttention, WhatDoesNotFitIsRefused) {
  EXPECT_REFUSED(SelfAttention(0, 8), Fault::configuration, "at least one channel");
  EXPECT_REFUSED(SelfAttention(8, 0), Fault::configuration, "a reduction of at least 1");
  SelfAttention net(6);
  EXPECT_REFUSED((void)net(torch::rand({2, 5, 4})), Fault::internal,
                 "needs tokens [N,T,6], not [2, 5, 4]");
  EXPECT_REFUSED((void)net(torch::rand({2, 6})), Fault::internal,
                 "needs tokens [N,T,6], not [2, 6]");
  EXPECT_REFUSED((void)net->forward_map(torch::rand({2, 5, 3, 3})), Fault::configuration,
                 "the feature map is [2, 5, 3, 3]");
}

TEST(SelfAttention, ComputesTokensInBfloat16InFloat32) {
  const torch::NoGradGuard no_gradient;
  SelfAttention net = randomised(6, 2);
  net->to(torch::kFloat32);
  const Tensor narrow = torch::randn({2, 5, 6}).to(torch::kBFloat16);
  const Tensor result = net(narrow);
  EXPECT_EQ(result.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::equal(result, net(narrow.to(torch::kFloat32))));
}

TEST(SelfAttention, HasTheSameBytesForAnyNumberOfThreads) {
  const auto make = [] {
    const torch::NoGradGuard no_gradient;
    SelfAttention net(256);
    net->named_parameters()["gamma"].fill_(0.8);
    return net;
  };
  // With several images per thread, and with fewer images than threads.
  for (const std::int64_t images : {19, 3}) {
    test::expect_same_bytes_for_any_threads(
        make, {torch::randn({images, 256, 14, 13}).requires_grad_()},
        [](SelfAttention& net, const std::vector<Tensor>& inputs) {
          return std::vector<Tensor>{net->forward_map(inputs[0])};
        });
  }
}

}  // namespace seam::nn::self_attention_test
