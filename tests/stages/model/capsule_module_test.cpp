#include "stages/model/capsule_module.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <seam/conformance.hpp>

#include <vector>

#include "tests/stages/model/descriptor_capsules_testing.hpp"
#include "tests/stages/nn/network_properties.hpp"
#include "tests/stages/nn/reference.hpp"
#include "tests/stages/nn/routing_reference.hpp"
#include "tests/support/matchers.hpp"

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

TEST(CapsuleModule, IsRoutingAndAttention) {
  const torch::NoGradGuard no_gradient;
  for (const RoutingSoftmax softmax : {RoutingSoftmax::classes, RoutingSoftmax::input_capsules}) {
    CapsuleModuleOptions options = small();
    options.routing.softmax = softmax;
    CapsuleModule net = in_double(options);
    const Tensor embedding = descriptors(3, 24);
    const CapsuleModuleOutput output = net(embedding);
    const Tensor v = test::route_by_predictions(embedding.view({3, 6, 4}),
                                                net->named_parameters()["w"], 3, options.routing);
    EXPECT_TRUE(torch::allclose(output.lengths, v.norm(2, {2}), 0, 1e-10));
    EXPECT_TRUE(torch::allclose(output.capsules, test::attended(*net, v), 0, 1e-10));
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
  const Tensor input = descriptors(3, 24).requires_grad_(true);
  test::expect_gradients(
      [&] {
        const CapsuleModuleOutput output = net(input);
        return output.capsules.pow(3).sum() + output.lengths.square().sum();
      },
      test::with_weights({input}, *net));
}

TEST(CapsuleModule, NothingIsNotANumberAtZero) {
  const torch::AutoGradMode gradients(true);
  CapsuleModule net(small(), 1);
  const Tensor zeros = torch::zeros({2, 24}).requires_grad_(true);
  const CapsuleModuleOutput output = net(zeros);
  (output.capsules.sum() + output.lengths.sum()).backward();
  EXPECT_TRUE(torch::isfinite(zeros.grad()).all().item<bool>());
  test::expect_finite_gradients(*net);
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
  EXPECT_THAT(harness.names_of_weights(),
              UnorderedElementsAre("w", "attention.gamma", "attention.query_conv.weight",
                                   "attention.query_conv.bias", "attention.key_conv.weight",
                                   "attention.key_conv.bias", "attention.value_conv.weight",
                                   "attention.value_conv.bias"));
}

}  // namespace seam::stages::capsule_module_test
