#include "stages/model/capsules.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <seam/conformance.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "stages/nn/squash.hpp"
#include "tests/stages/model/descriptor_capsules_testing.hpp"
#include "tests/stages/nn/network_properties.hpp"
#include "tests/stages/nn/reference.hpp"
#include "tests/stages/nn/routing_reference.hpp"
#include "tests/support/matchers.hpp"

namespace seam::nn::capsules_test {

using torch::Tensor;

using Sizes = std::vector<std::int64_t>;

/// Own weights, batch normalisation, no squash, no routing.
CapsulesOptions unrouted() {
  CapsulesOptions options;
  options.channels = 6;
  options.primary_capsules = 2;
  options.capsule_size = 4;
  options.kernel = 3;
  options.stride = 2;
  options.map_height = 5;
  options.map_width = 6;
  options.classes = 3;
  options.class_capsule_size = 5;
  return options;
}

CapsulesOptions cosine() {
  CapsulesOptions options = unrouted();
  options.routing.agreement = Agreement::cosine;
  options.routing.logits = Logits::replace;
  options.routing.factor = 4;
  options.routing.iterations = 2;
  return options;
}

/// As in type C of Durmuş et al.
CapsulesOptions squashed() {
  CapsulesOptions options = unrouted();
  options.normalise_primary = false;
  options.normalise_classes = false;
  options.routing.squash = SquashForm::epsilon_in_root;
  options.routing.iterations = 3;
  options.attention = true;
  options.norm_axis = NormAxis::capsule;
  return options;
}

/// SCCapsNet's.
CapsulesOptions shared() {
  CapsulesOptions options = squashed();
  options.attention = false;
  options.padding = PrimaryPadding::same;
  options.weights = CapsuleWeights::shared;
  return options;
}

std::vector<CapsulesOptions> all_options() {
  CapsulesOptions shared_cosine = cosine();
  shared_cosine.weights = CapsuleWeights::shared;
  shared_cosine.norm_axis = NormAxis::none;
  return {unrouted(), cosine(), squashed(), shared(), shared_cosine};
}

Capsules in_double(const CapsulesOptions& options) {
  torch::manual_seed(7);
  Capsules net(options, 3);
  net->to(torch::kFloat64);
  const torch::NoGradGuard no_gradient;
  for (const auto& item : net->named_parameters()) {
    if (item.key().find("_bn") != std::string::npos) item.value().add_(0.3);
    if (item.key() == "attention.gamma") item.value().fill_(0.6);
  }
  return net;
}

Tensor map_of(std::int64_t images) {
  torch::manual_seed(2);
  return torch::randn({images, 6, 5, 6}, torch::kFloat64);
}

/// Each column of rows [N,E] as batch normalisation leaves it in training.
Tensor normalised_columns(const Tensor& rows, const Tensor& weight, const Tensor& bias) {
  const Tensor apart = rows - rows.mean(0);
  return apart / torch::sqrt((apart * apart).mean(0) + 1e-5) * weight + bias;
}

/// Class capsules [N,K,D] of a batch in training.
Tensor as_described(const CapsulesImpl& net, const CapsulesOptions& options, const Tensor& map) {
  const auto parameters = net.named_parameters();
  // A side of 6 has 3 windows of 3 at a stride of 2 if one row of zeros follows; of 5, if one row
  // is before and one after.
  const Tensor padded =
      options.padding == PrimaryPadding::same ? torch::constant_pad_nd(map, {0, 1, 1, 1}) : map;
  const Tensor* const bias = parameters.find("primary.bias");
  Tensor convolved = torch::conv2d(padded, parameters["primary.weight"],
                                   bias == nullptr ? Tensor() : *bias, /*stride=*/2);
  if (options.normalise_primary) {
    const Tensor rows = convolved.permute({0, 2, 3, 1});
    convolved = normalised_columns(rows.reshape({-1, rows.size(3)}),
                                   parameters["primary_bn.weight"], parameters["primary_bn.bias"])
                    .view(rows.sizes())
                    .permute({0, 3, 1, 2});
  }
  // Position by position, four consecutive channels each.
  const Tensor u = convolved.permute({0, 2, 3, 1}).reshape({map.size(0), -1, 4});
  Tensor v = test::route_by_predictions(
      squash_reference(u, options.routing.squash, options.routing.epsilon), parameters["w"],
      options.classes, options.routing);
  if (!options.normalise_classes) return v;
  return normalised_columns(v.flatten(1), parameters["class_bn.weight"],
                            parameters["class_bn.bias"])
      .view(v.sizes());
}

TEST(Capsules, AreWhatTheyAreDescribedAs) {
  const torch::NoGradGuard no_gradient;
  for (const CapsulesOptions& options : all_options()) {
    Capsules net = in_double(options);
    const Tensor map = map_of(3);
    const CapsulesOutput output = net(map);
    Tensor expected = as_described(*net, options, map);
    EXPECT_TRUE(torch::allclose(output.lengths, expected.norm(2, 2), 0, 1e-9));
    if (options.attention) expected = test::attended(*net, expected);
    EXPECT_TRUE(torch::allclose(output.capsules, expected, 0, 1e-9));
    Tensor embedding = expected.flatten(1);
    if (options.norm_axis == NormAxis::vector) embedding = embedding / embedding.norm(2, 1, true);
    if (options.norm_axis == NormAxis::capsule) {
      embedding = (expected / expected.norm(2, 2, true)).flatten(1);
    }
    EXPECT_TRUE(torch::allclose(output.embedding, embedding, 0, 1e-9));
  }
}

TEST(Capsules, HaveTheHeadOfSccapsnetAmongTheirSettings) {
  const torch::NoGradGuard no_gradient;
  for (const CapsuleWeights weights : {CapsuleWeights::shared, CapsuleWeights::own}) {
    NetworkOptions all = sccapsnet_as_published();
    all.classes = 5;
    all.width = 4;
    all.primary_channels = 16;
    all.capsule_size = 4;
    all.class_capsule_size = 3;
    all.weights = weights;
    all.images = {32, 48};
    CapsuleNetwork network(all, 4);
    network->eval();
    torch::manual_seed(5);
    const Tensor images = torch::rand({2, 3, 32, 48});
    const Tensor map = network->extractor->forward(images);
    CapsulesOptions head = shared();
    head.channels = 16;  // SCCapsNet's last convolution, passed on
    head.primary_capsules = 4;
    head.kernel = 1;
    head.stride = 1;
    head.weights = weights;
    head.map_height = map.size(2);
    head.map_width = map.size(3);
    head.classes = 5;
    head.class_capsule_size = 3;
    Capsules net(head, 4);
    net->named_parameters()["primary.weight"].copy_(torch::eye(16).view({16, 16, 1, 1}));
    net->named_parameters()["primary.bias"].zero_();
    net->named_parameters()["w"].copy_(network->routing_weight);
    const ClassCapsules expected = network->forward(images);
    const CapsulesOutput output = net(map);
    EXPECT_TRUE(torch::allclose(output.embedding, mask_capsules(expected.capsules), 1e-5, 1e-6));
    EXPECT_TRUE(torch::allclose(output.lengths, expected.lengths, 1e-5, 1e-6));
  }
}

TEST(Capsules, AnImageIsTheSameInAnyBatchOfAnEvaluation) {
  const torch::NoGradGuard no_gradient;
  for (const CapsulesOptions& options : all_options()) {
    Capsules net = in_double(options);
    net->eval();
    const Tensor map = map_of(9);
    EXPECT_TRUE(
        torch::allclose(net(map).embedding[7], net(map.narrow(0, 7, 1)).embedding[0], 0, 1e-12));
  }
}

TEST(Capsules, WithSharedWeightsTakeMapsOfAnySize) {
  torch::manual_seed(3);
  Capsules net(shared(), 1);
  for (const std::int64_t side : {1, 4, 9}) {
    EXPECT_EQ(net(torch::rand({2, 6, side, side + 1})).embedding.sizes(), (Sizes{2, 15}));
  }
}

TEST(Capsules, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads alone(1);  // many small passes
  for (const CapsulesOptions& options : all_options()) {
    Capsules net = in_double(options);
    const Tensor map = map_of(3).requires_grad_(true);
    test::expect_gradients(
        [&] {
          const CapsulesOutput output = net(map);
          return output.embedding.pow(3).sum() + output.lengths.square().sum() +
                 output.capsules.pow(3).sum();
        },
        test::with_weights({map}, *net));
  }
}

TEST(Capsules, NothingIsNotANumberAtZero) {
  for (const CapsulesOptions& options : all_options()) {
    Capsules net(options, 1);
    const Tensor zeros = torch::zeros({2, 6, 5, 6}).requires_grad_(true);
    const CapsulesOutput output = net(zeros);
    (output.embedding.sum() + output.lengths.sum()).backward();
    EXPECT_TRUE(torch::isfinite(zeros.grad()).all().item<bool>());
    test::expect_finite_gradients(*net);
  }
}

TEST(Capsules, InitialWeightsAreGlorotsUnlessADeviationIsSet) {
  CapsulesOptions options = unrouted();
  options.capsule_size = 16;
  options.primary_capsules = 64;
  const double range = std::sqrt(6.0 / (16 + 15));
  const Tensor glorot = Capsules(options, 3)->named_parameters()["w"];
  EXPECT_LE(glorot.abs().max().item<double>(), range);
  EXPECT_NEAR(glorot.std().item<double>(), range / std::sqrt(3.0), 0.01);
  options.weight_deviation = 0.25;
  const Tensor normal = Capsules(options, 3)->named_parameters()["w"];
  EXPECT_NEAR(normal.std().item<double>(), 0.25, 0.01);
  EXPECT_GT(normal.abs().max().item<double>(), 0.7);
}

TEST(Capsules, WhatDoesNotFitIsRefused) {
  CapsulesOptions options = unrouted();
  options.map_width = 2;
  EXPECT_REFUSED(Capsules(options, 1), Fault::configuration,
                 "a map of 2x5 (width x height) is smaller than the primary convolution of 3x3");
  options.classes = 0;
  EXPECT_REFUSED(Capsules(options, 1), Fault::configuration, "must be at least 1");
  Capsules own(unrouted(), 1);
  EXPECT_REFUSED((void)own(torch::rand({2, 6, 6, 5})), Fault::configuration,
                 "the feature map is 5x6, but the capsules have weights for 6x5");
  EXPECT_REFUSED((void)own(torch::rand({2, 5, 5, 6})), Fault::configuration,
                 "the feature map is [2, 5, 5, 6]");
  CapsulesOptions valid = shared();
  valid.padding = PrimaryPadding::none;
  EXPECT_REFUSED((void)Capsules(valid, 1)(torch::rand({2, 6, 2, 9})), Fault::configuration,
                 "a map of 9x2 (width x height) is smaller");
}

TEST(Capsules, HaveTheSameBytesForAnyNumberOfThreads) {
  for (CapsulesOptions options : all_options()) {
    options.channels = 64;
    options.primary_capsules = 8;
    options.capsule_size = 16;
    options.map_height = 9;
    options.map_width = 9;
    options.classes = 13;
    torch::manual_seed(3);
    const Tensor map = torch::randn({13, 64, 9, 9}).requires_grad_();
    test::expect_same_bytes_for_any_threads(
        [&] { return Capsules(options, 8); }, {map},
        [](Capsules& net, const std::vector<Tensor>& inputs) {
          const CapsulesOutput output = net(inputs[0]);
          return std::vector<Tensor>{output.embedding, output.lengths, output.capsules};
        });
  }
}

}  // namespace seam::nn::capsules_test

namespace seam::stages::capsules_test {

using seam::testing::Harness;

using Sizes = std::vector<std::int64_t>;
std::vector<Packet> maps(Harness& /*harness*/) {
  return batches({field::feature_map});
}

Parameters with(Parameters base, const Parameters& more) {
  base.insert(more.begin(), more.end());
  return base;
}

const Parameters shared{{"channels", std::int64_t{16}},
                        {"primary_capsules", std::int64_t{2}},
                        {"capsule_size", std::int64_t{4}},
                        {"classes", std::int64_t{3}},
                        {"class_capsule_size", std::int64_t{4}},
                        {"primary_kernel", std::int64_t{3}},
                        {"routing_weights", std::string("shared")},
                        {"routing", std::string("agreement")},
                        {"squash", std::string("epsilon_in_root")},
                        {"normalise_primary", false},
                        {"normalise_classes", false}};
const Parameters& own = of_map;
const Parameters cosine = with(of_map, {{"routing", std::string("cosine")}});

const auto conformance = seam::testing::conformance<Capsules>({
    .parameters = own,
    .packets = maps,
    .refused = {{{"primary_kernel", std::int64_t{6}}}},
    .second = {{"precision", std::string("bfloat16")}},
});
const auto routed_conformance = seam::testing::conformance<Capsules>({
    .name = "routed",
    .parameters = cosine,
    .packets = maps,
    .second = {{"precision", std::string("bfloat16")}},
});
const auto shared_conformance = seam::testing::conformance<Capsules>({
    .name = "shared",
    .parameters = shared,
    .packets = maps,
    .second = {{"precision", std::string("bfloat16")}},
});

TEST(CapsulesStage, ProvidesCapsulesAndAnEmbeddingOfUnitLength) {
  With<Capsules> harness(own);
  harness.push(batch(4));
  ASSERT_THAT(harness.errors(), IsEmpty());
  const Packet& out = harness.outputs().at(0);
  EXPECT_EQ(out[field::capsules].sizes(), (Sizes{4, 3, 4}));
  EXPECT_EQ(out[field::class_lengths].sizes(), (Sizes{4, 3}));
  EXPECT_EQ(out[field::embedding].sizes(), (Sizes{4, 12}));
  EXPECT_TRUE(torch::allclose(out[field::embedding].norm(2, 1), torch::ones({4})));
  EXPECT_THAT(harness.names_of_weights(),
              UnorderedElementsAre("primary.weight", "primary_bn.weight", "primary_bn.bias", "w",
                                   "class_bn.weight", "class_bn.bias"));
}

TEST(CapsulesStage, LeavesAnEmbeddingAlone) {
  With<Capsules> harness(own);
  Packet packet = batch(4);
  const Tensor descriptors = torch::rand({4, 7});
  packet.set(field::embedding, descriptors);
  harness.set("embedding", false).push(packet);
  ASSERT_THAT(harness.errors(), IsEmpty());
  EXPECT_TRUE(torch::equal(harness.outputs().at(0)[field::embedding], descriptors));
}

TEST(CapsulesStage, RoutesOnlyIfAsked) {
  const auto capsules = [](const Parameters& parameters, const char* routing) {
    With<Capsules> harness(parameters);
    harness.set("routing", routing).push(batch(4));
    EXPECT_THAT(harness.errors(), IsEmpty());
    return harness.outputs().at(0)[field::capsules].detach();
  };
  for (const Parameters& parameters : {own, shared}) {
    const Tensor none = capsules(parameters, "none");
    EXPECT_FALSE(torch::allclose(capsules(parameters, "agreement"), none, 1e-3, 1e-4));
    EXPECT_FALSE(torch::allclose(capsules(parameters, "cosine"), none, 1e-2, 1e-3));
  }
}

/// Texts of the harness' warnings about routing.
std::vector<std::string> routing_warnings(const Harness& harness) {
  std::vector<std::string> texts;
  for (const auto& line : harness.log()) {
    if (line.text.starts_with("routing")) texts.push_back(line.text);
  }
  return texts;
}

TEST(CapsulesStage, RecordsWhatRoutingDoesOnceInATraining) {
  With<Capsules> harness(cosine);
  harness.training(true).push(batch(4)).push(batch(3)).finish();
  ASSERT_THAT(harness.errors(), IsEmpty());
  EXPECT_EQ(harness.metrics().at("coupling_entropy").size(), 1U);
  EXPECT_LT(harness.metric("routing_cosine"), 0.999);
  EXPECT_EQ(harness.metric("dead_classes"), 0);
  EXPECT_FALSE(harness.metrics().contains("saturated_capsules"));  // nothing is squashed
  harness.training(false).push(batch(4)).finish();
  EXPECT_EQ(harness.metrics().at("coupling_entropy").size(), 1U);
  EXPECT_THAT(routing_warnings(harness), IsEmpty());
}

TEST(CapsulesStage, WarnsOnceAfterATrainingIfRoutingHasNoEffect) {
  With<Capsules> harness(with(cosine, {{"factor", 0.0}}));
  harness.training(true).push(batch(4)).finish();
  harness.trainings(1).training(false).push(batch(4)).finish();
  EXPECT_THAT(routing_warnings(harness), IsEmpty());  // it was not trained when it was measured
  harness.training(true).push(batch(4)).finish();
  EXPECT_THAT(routing_warnings(harness), IsEmpty());
  harness.trainings(2).training(false).push(batch(4)).finish();
  harness.push(batch(4)).finish();
  EXPECT_THAT(routing_warnings(harness),
              ::testing::ElementsAre(::testing::HasSubstr("a mean cosine of 1.0000")));
}

}  // namespace seam::stages::capsules_test
