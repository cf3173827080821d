#include "stages/model/capsule_module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
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
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace capsule_module_test {

using torch::Tensor;

using Sizes = std::vector<std::int64_t>;

CapsuleModuleOptions of_descriptors() {
  CapsuleModuleOptions options;
  options.width = 24;
  options.capsule_size = 4;
  options.classes = 3;
  options.class_capsule_size = 5;
  return options;
}

CapsuleModuleOptions of_map() {
  CapsuleModuleOptions options = of_descriptors();
  options.input = CapsuleInput::feature_map;
  options.width = 6;
  options.primary = {5, 6, 2, 3, 2};
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
  CapsuleModuleOptions map;
  map.input = CapsuleInput::feature_map;
  map.width = 2048;
  EXPECT_EQ(map.routes(), 384);
  map.primary.height = 18;  // of images of 284x423, with a last stride of 1
  map.primary.width = 27;
  EXPECT_EQ(map.routes(), 24 * 6 * 11);
}

TEST(CapsuleModule, EqualsLoopsOnDescriptors) {
  const torch::NoGradGuard no_gradient;
  for (const bool over_routes : {false, true}) {
    CapsuleModuleOptions options = of_descriptors();
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

TEST(CapsuleModule, EqualsLoopsOnAMap) {
  const torch::NoGradGuard no_gradient;
  CapsuleModuleOptions options = of_map();
  options.attention = false;
  CapsuleModule net = in_double(options);
  const auto parameters = net->named_parameters();
  EXPECT_EQ(parameters.size(), 3U);
  torch::manual_seed(2);
  const Tensor map = torch::randn({2, 6, 5, 6}, torch::kFloat64);
  const CapsuleModuleOutput output = net(map);
  const Tensor convolved =
      torch::conv2d(map, parameters["primary.weight"], parameters["primary.bias"], /*stride=*/2);
  ASSERT_EQ(convolved.sizes(), (Sizes{2, 8, 2, 2}));
  for (std::int64_t n = 0; n < 2; ++n) {
    std::vector<Tensor> capsules;  // position by position, four consecutive channels each
    for (std::int64_t place = 0; place < 4; ++place) {
      const Tensor channels = convolved[n].select(1, place / 2).select(1, place % 2);
      for (const std::int64_t first : {0, 4}) {
        capsules.push_back(squashed(channels.narrow(0, first, 4)));
      }
    }
    const Tensor v = routed_by_loops(torch::stack(capsules), parameters["w"], 3, false);
    EXPECT_TRUE(torch::allclose(output.capsules[n], v, 0, 1e-10));
    EXPECT_TRUE(torch::allclose(output.lengths[n], v.norm(2, 1), 0, 1e-10));
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
  for (const CapsuleModuleOptions& options : {of_descriptors(), of_map()}) {
    CapsuleModule net = in_double(options);
    torch::manual_seed(4);
    const Tensor input = options.input == CapsuleInput::descriptors
                             ? descriptors(9, 24)
                             : torch::randn({9, 6, 5, 6}, torch::kFloat64);
    EXPECT_TRUE(
        torch::allclose(net(input).capsules[7], net(input.narrow(0, 7, 1)).capsules[0], 0, 1e-12));
  }
}

TEST(CapsuleModule, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads alone(1);  // many small passes
  for (const CapsuleModuleOptions& options : {of_descriptors(), of_map()}) {
    CapsuleModule net = in_double(options);
    torch::manual_seed(4);
    Tensor input = options.input == CapsuleInput::descriptors
                       ? descriptors(3, 24)
                       : torch::randn({3, 6, 5, 6}, torch::kFloat64);
    std::vector<Tensor> inputs{input.requires_grad_(true)};
    for (const Tensor& parameter : net->parameters()) inputs.push_back(parameter);
    test::expect_gradients(
        [&] {
          const CapsuleModuleOutput output = net(inputs[0]);
          return output.capsules.pow(3).sum() + output.lengths.square().sum();
        },
        inputs);
  }
}

TEST(CapsuleModule, NothingIsNotANumberAtZero) {
  const torch::AutoGradMode gradients(true);
  CapsuleModule net(of_descriptors(), 1);
  const Tensor zeros = torch::zeros({2, 24}).requires_grad_(true);
  const CapsuleModuleOutput output = net(zeros);
  (output.capsules.sum() + output.lengths.sum()).backward();
  EXPECT_TRUE(torch::isfinite(zeros.grad()).all().item<bool>());
  for (const Tensor& parameter : net->parameters()) {
    EXPECT_TRUE(torch::isfinite(parameter.grad()).all().item<bool>());
  }
}

TEST(CapsuleModule, WhatDoesNotFitIsRefused) {
  CapsuleModuleOptions options = of_descriptors();
  options.width = 23;
  EXPECT_REFUSED(CapsuleModule(options, 1), Fault::configuration,
                 "descriptors of 23 elements cannot be divided");
  options = of_map();
  options.primary.kernel = 6;
  EXPECT_REFUSED(CapsuleModule(options, 1), Fault::configuration,
                 "is smaller than the convolution of 6x6");
  CapsuleModule net(of_descriptors(), 1);
  EXPECT_REFUSED((void)net(torch::rand({2, 28})), Fault::configuration,
                 "the descriptors are [2, 28]");
  EXPECT_REFUSED((void)net(torch::rand({2, 24, 1})), Fault::configuration,
                 "the descriptors are [2, 24, 1]");
  CapsuleModule map(of_map(), 1);
  EXPECT_REFUSED((void)map(torch::rand({2, 6, 6, 5})), Fault::configuration,
                 "set `map_width` and `map_height`");
  EXPECT_REFUSED((void)map(torch::rand({2, 5, 5, 6})), Fault::configuration,
                 "the feature map is [2, 5, 5, 6]");
}

TEST(CapsuleModule, HasTheSameBytesForAnyNumberOfThreads) {
  const torch::AutoGradMode gradients(true);
  CapsuleModuleOptions descriptors_of_many;
  descriptors_of_many.width = 3 * 256;
  CapsuleModuleOptions map = of_map();
  map.width = 64;
  map.primary = {14, 14, 24, 7, 2};
  map.capsule_size = 16;
  for (const CapsuleModuleOptions& options : {descriptors_of_many, map}) {
    torch::manual_seed(3);
    CapsuleModule net(options, 8);
    const Tensor values = options.input == CapsuleInput::descriptors
                              ? descriptors(13, 768).to(torch::kFloat32)
                              : torch::randn({13, 64, 14, 14});
    std::vector<std::vector<Tensor>> results;
    for (const int count : {1, 2, 3, 5, 8}) {
      const test::Threads threads(count);
      net->zero_grad();
      const Tensor input = values.clone().requires_grad_(true);
      const CapsuleModuleOutput output = net(input);
      (output.capsules.pow(3).sum() + output.lengths.square().sum()).backward();
      std::vector<Tensor> result{output.capsules, output.lengths, input.grad()};
      for (const Tensor& parameter : net->parameters()) result.push_back(parameter.grad().clone());
      results.push_back(result);
    }
    for (const std::vector<Tensor>& result : results) {
      for (std::size_t at = 0; at < result.size(); ++at) {
        EXPECT_TRUE(torch::equal(result[at], results[0][at])) << "number " << at;
      }
    }
  }
}

}  // namespace capsule_module_test
}  // namespace seam::nn

namespace seam::stages {
namespace capsule_module_test {

using seam::testing::Harness;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Sizes = std::vector<std::int64_t>;

const auto capsules_conformance = seam::testing::conformance<CapsuleModule>({
    .parameters = of_descriptors,
    .packets = [](Harness&) { return batches({field::embedding}); },
    .refused = {{{"capsule_size", std::int64_t{5}}}, {{"map_height", std::int64_t{7}}}},
    .without_effect = {{"precision", "capsules of descriptors are computed in float32"}},
});
const auto map_conformance = seam::testing::conformance<CapsuleModule>({
    .name = "map",
    .parameters = of_map,
    .packets = [](Harness&) { return batches({field::feature_map}); },
    .refused = {{{"primary_kernel", std::int64_t{6}}}},
    .second = {{"precision", std::string("bfloat16")}},
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

}  // namespace capsule_module_test
}  // namespace seam::stages
