#include "stages/model/capsule_module.hpp"

#include <gmock/gmock.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <seam/conformance.hpp>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "tests/stages/model/descriptor_capsules_testing.hpp"
#include "tests/stages/nn/network_properties.hpp"

namespace seam::nn::capsule_module_test {

using torch::Tensor;

using Sizes = std::vector<std::int64_t>;

CapsuleModuleOptions small() {
  CapsuleModuleOptions options;
  options.width = 24;
  options.capsule_size = 4;
  options.classes = 3;
  options.class_capsule_size = 5;
  return options;
}

CapsuleModule in_double(const CapsuleModuleOptions& options) {
  CapsuleModule net(options, 3);
  net->to(torch::kFloat64);
  const torch::NoGradGuard no_gradient;
  const auto parameters = net->named_parameters();
  if (options.attention) parameters["attention.gamma"].fill_(0.6);
  return net;
}

/// Each of three descriptors of unit length.
Tensor descriptors(std::int64_t images, std::int64_t length) {
  torch::manual_seed(6);
  const Tensor each = torch::randn({images, 3, length / 3}, torch::kFloat64);
  return (each / each.norm(2, 2, true)).flatten(1);
}

Tensor squashed(const Tensor& s) {
  const double square = s.dot(s).item<double>();
  return s * (square / (1 + square) / std::sqrt(square + 1e-7));
}

/// One image's class capsules [K,D] of capsules u [R,d]: Sabour et al.'s procedure 1, in loops.
/// The softmax is over the classes of a route, or over the routes of a class.
Tensor routed_by_loops(const Tensor& u, const Tensor& weight, std::int64_t classes,
                       bool over_routes) {
  const std::int64_t size = weight.size(2) / classes;
  const auto prediction = [&](std::int64_t i, std::int64_t j) {
    return weight[i].narrow(1, j * size, size).t().mv(u[i]);
  };
  Tensor logits = torch::zeros({u.size(0), classes}, torch::kFloat64);
  Tensor v = torch::zeros({classes, size}, torch::kFloat64);
  for (int iteration = 0; iteration < 3; ++iteration) {
    for (std::int64_t j = 0; j < classes; ++j) {
      Tensor s = torch::zeros({size}, torch::kFloat64);
      for (std::int64_t i = 0; i < u.size(0); ++i) {
        const Tensor among = over_routes ? logits.select(1, j) : logits[i];
        s += (logits[i][j].exp() / among.exp().sum()) * prediction(i, j);
      }
      v[j] = squashed(s);
    }
    for (std::int64_t i = 0; i < u.size(0); ++i) {
      for (std::int64_t j = 0; j < classes; ++j) logits[i][j] += prediction(i, j).dot(v[j]);
    }
  }
  return v;
}

TEST(CapsuleModule, RoutesFollowFromTheWidth) {
  CapsuleModuleOptions published;
  published.width = 3 * 2048;
  EXPECT_EQ(published.routes(), 24 * 4 * 4);  // table 1 of the paper
  const CapsuleModule net(published, 1);
  EXPECT_EQ(net->named_parameters()["w"].numel(), 384 * 12 * 16 * 16);
  published.width = 3 * 1024;
  EXPECT_EQ(published.routes(), 192);
  published.width = 3 * 512;
  EXPECT_EQ(published.routes(), 96);
}

TEST(CapsuleModule, EqualsLoops) {
  const torch::NoGradGuard no_gradient;
  for (const bool over_routes : {false, true}) {
    CapsuleModuleOptions options = small();
    if (over_routes) options.routing.softmax = RoutingSoftmax::input_capsules;
    CapsuleModule net = in_double(options);
    const Tensor embedding = descriptors(3, 24);
    const CapsuleModuleOutput output = net(embedding);
    const auto parameters = net->named_parameters();
    for (std::int64_t n = 0; n < 3; ++n) {
      const Tensor v = routed_by_loops(embedding[n].view({6, 4}), parameters["w"], 3, over_routes);
      EXPECT_TRUE(torch::allclose(output.lengths[n], v.norm(2, 1), 0, 1e-10));
      // Each class capsule attends to all three.
      const auto dense = [&](const std::string& part) {
        return v.matmul(parameters["attention." + part + ".weight"].flatten(1).t()) +
               parameters["attention." + part + ".bias"];
      };
      const Tensor shares = torch::softmax(dense("query_conv").matmul(dense("key_conv").t()), 1);
      EXPECT_TRUE(torch::allclose(output.capsules[n], v + 0.6 * shares.matmul(dense("value_conv")),
                                  0, 1e-10));
    }
  }
}

TEST(CapsuleModule, ClassCapsulesHaveVisibleLengthsAtFirst) {
  CapsuleModuleOptions options;
  for (const std::int64_t width : {3 * 2048, 3 * 192}) {
    options.width = width;
    const Tensor lengths =
        CapsuleModule(options, 5)(descriptors(4, width).to(torch::kFloat32)).lengths;
    EXPECT_GT(lengths.min().item<double>(), 0.05);
    EXPECT_LT(lengths.max().item<double>(), 0.8);
  }
}

TEST(CapsuleModule, AnImageIsTheSameInAnyBatch) {
  const torch::NoGradGuard no_gradient;
  CapsuleModule net = in_double(small());
  const Tensor input = descriptors(9, 24);
  EXPECT_TRUE(
      torch::allclose(net(input).capsules[7], net(input.narrow(0, 7, 1)).capsules[0], 0, 1e-12));
}

TEST(CapsuleModule, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads alone(1);  // many small passes
  CapsuleModule net = in_double(small());
  std::vector<Tensor> inputs{descriptors(3, 24).requires_grad_(true)};
  for (const Tensor& parameter : net->parameters()) inputs.push_back(parameter);
  test::expect_gradients(
      [&] {
        const CapsuleModuleOutput output = net(inputs[0]);
        return output.capsules.pow(3).sum() + output.lengths.square().sum();
      },
      inputs);
}

TEST(CapsuleModule, NothingIsNotANumberAtZero) {
  const torch::AutoGradMode gradients(true);
  CapsuleModule net(small(), 1);
  const Tensor zeros = torch::zeros({2, 24}).requires_grad_(true);
  const CapsuleModuleOutput output = net(zeros);
  (output.capsules.sum() + output.lengths.sum()).backward();
  EXPECT_TRUE(torch::isfinite(zeros.grad()).all().item<bool>());
  for (const Tensor& parameter : net->parameters()) {
    EXPECT_TRUE(torch::isfinite(parameter.grad()).all().item<bool>());
  }
}

TEST(CapsuleModule, WhatDoesNotFitIsRefused) {
  CapsuleModuleOptions options = small();
  options.width = 23;
  EXPECT_REFUSED(CapsuleModule(options, 1), Fault::configuration,
                 "descriptors of 23 elements cannot be divided");
  CapsuleModule net(small(), 1);
  EXPECT_REFUSED((void)net(torch::rand({2, 28})), Fault::configuration,
                 "the descriptors are [2, 28]");
  EXPECT_REFUSED((void)net(torch::rand({2, 24, 1})), Fault::configuration,
                 "the descriptors are [2, 24, 1]");
}

TEST(CapsuleModule, HasTheSameBytesForAnyNumberOfThreads) {
  CapsuleModuleOptions many;
  many.width = 3 * 256;
  test::expect_same_bytes_for_any_threads(
      [&] { return CapsuleModule(many, 8); },
      {descriptors(13, 768).to(torch::kFloat32).requires_grad_()},
      [](CapsuleModule& net, const std::vector<Tensor>& inputs) {
        const CapsuleModuleOutput output = net(inputs[0]);
        return std::vector<Tensor>{output.capsules, output.lengths};
      });
}

}  // namespace seam::nn::capsule_module_test

namespace seam::stages::capsule_module_test {

using seam::testing::Harness;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Sizes = std::vector<std::int64_t>;

const auto capsules_conformance = seam::testing::conformance<CapsuleModule>({
    .parameters = of_descriptors,
    .packets = [](Harness&) { return batches({field::embedding}); },
    .refused = {{{"capsule_size", std::int64_t{5}}}},
    .without_effect = {{"precision", "capsules of descriptors are computed in float32"}},
});
TEST(CapsuleModuleStage, ProvidesCapsulesOfDescriptorsAndLeavesThemAsTheyAre) {
  With<CapsuleModule> harness(of_descriptors);
  harness.push(batch(4));
  ASSERT_THAT(harness.errors(), IsEmpty());
  const Packet& out = harness.outputs().at(0);
  EXPECT_EQ(out[field::capsules].sizes(), (Sizes{4, 3, 4}));
  EXPECT_EQ(out[field::class_lengths].sizes(), (Sizes{4, 3}));
  EXPECT_TRUE(torch::equal(out[field::embedding], batch(4)[field::embedding]));
  // Attention adds nothing at first.
  EXPECT_TRUE(
      torch::allclose(out[field::capsules].norm(2, 2), out[field::class_lengths], 1e-4, 1e-6));
  std::vector<std::string> names;
  for (const NamedWeight& weight :
       dynamic_cast<CapsuleModule&>(harness.runner().stage()).weights()) {
    names.push_back(weight.name);
  }
  EXPECT_THAT(names, UnorderedElementsAre("w", "attention.gamma", "attention.query_conv.weight",
                                          "attention.query_conv.bias", "attention.key_conv.weight",
                                          "attention.key_conv.bias", "attention.value_conv.weight",
                                          "attention.value_conv.bias"));
}

TEST(CapsuleModuleStage, TheErrorOfPortsIsAnother) {
  const auto capsules = [](const char* compat) {
    With<CapsuleModule> harness(of_descriptors);
    harness.set("compat", compat).push(batch(4));
    EXPECT_THAT(harness.errors(), IsEmpty());
    return harness.outputs().at(0)[field::capsules].detach();
  };
  EXPECT_FALSE(torch::allclose(capsules("none"), capsules("routes_softmax"), 1e-2, 1e-3));
}

}  // namespace seam::stages::capsule_module_test
