#include "stages/model/scn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <seam/conformance.hpp>
#include <seam/error.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stages/model/sdropcapnet.hpp"

namespace seam::stages {
namespace {

using seam::testing::Harness;
using ::testing::HasSubstr;
using Parameters = std::map<std::string, Value>;

Packet batch(std::int64_t rows = 4) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({rows, 3, 24, 26}));
  return packet;
}

Parameters small(Parameters more = {}) {
  more.insert({{"image_height", std::int64_t{24}},
               {"image_width", std::int64_t{26}},
               {"width", std::int64_t{4}},
               {"primary_capsules", std::int64_t{2}},
               {"capsule_size", std::int64_t{4}},
               {"face_capsules", std::int64_t{5}},
               {"face_capsule_size", std::int64_t{3}},
               {"dimensions", std::int64_t{6}}});
  return more;
}

Parameters published(Parameters more = {}) {
  more.insert({{"kernel", std::int64_t{5}}, {"primary_kernel", std::int64_t{3}}});
  return small(std::move(more));
}

std::vector<Packet> batches(Harness& /*harness*/) {
  return {batch(), batch()};
}

const auto scn = seam::testing::conformance<Scn>({
    .parameters = published(),
    .packets = batches,
    .training = true,
    .refused = {{{"channels", std::int64_t{2}}}, {{"image_height", std::int64_t{6}}}},
});
const auto sdropcapnet = seam::testing::conformance<Sdropcapnet>({
    .parameters = published({{"initial_dropout", 0.3}}),
    .packets = batches,
    .training = true,
    .refused = {{{"initial_dropout", 1.0}}, {{"temperature", 0.0}}},
});

template <class Stage>
Packet output(const Parameters& parameters, bool training, Packet packet = batch()) {
  Harness harness("model", std::make_unique<Stage>());
  for (const auto& [name, value] : parameters) harness.set(name, value);
  harness.training(training).push(std::move(packet));
  EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  return harness.outputs().at(0);
}

TEST(Scn, EmbeddingsHaveUnitLengthUnlessToldOtherwise) {
  const Tensor unit = output<Scn>(published(), false)[field::embedding];
  EXPECT_EQ(unit.sizes(), (std::vector<std::int64_t>{4, 6}));
  EXPECT_LT((unit.norm(2, {1}) - 1).abs().max().item<double>(), 1e-5);
  const Tensor raw = output<Scn>(published({{"unit_length", false}}), false)[field::embedding];
  EXPECT_GT((raw.norm(2, {1}) - 1).abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(torch::allclose(raw / raw.norm(2, {1}, true), unit, 1e-4, 1e-5));
}

TEST(Scn, EveryNonlinearityVariantAndCompatIsAnotherNetwork) {
  const auto with = [](Parameters more, bool is_published = true) {
    return output<Scn>(is_published ? published(std::move(more)) : small(std::move(more)),
                       false)[field::capsules];
  };
  const Tensor tanh = with({});
  EXPECT_TRUE(torch::equal(tanh, with({{"nonlinearity", std::string("tanh")}})));
  EXPECT_FALSE(torch::allclose(tanh, with({{"nonlinearity", std::string("squash")}})));
  EXPECT_GT(with({{"nonlinearity", std::string("sigmoid")}}).min().item<double>(), 0);
  EXPECT_FALSE(torch::allclose(tanh, with({{"iterations", std::int64_t{2}}})));
  EXPECT_TRUE(torch::equal(tanh, with({{"iterations", std::int64_t{4}}})));
  EXPECT_FALSE(torch::allclose(
      tanh, with({{"compat", std::string("routes_softmax")}, {"weight_deviation", 0.1}})));
  const Parameters released{{"variant", std::string("released_default")}};
  const Tensor sigmoid = with(released, false);
  EXPECT_GT(sigmoid.min().item<double>(), 0);
  EXPECT_LT(sigmoid.max().item<double>(), 1);
}

TEST(Scn, WhatTheReleasedDefaultHasNoPlaceForIsRefused) {
  for (const char* parameter : {"kernel", "first_stride", "primary_kernel", "primary_stride"}) {
    Harness harness("model", std::make_unique<Scn>());
    for (const auto& [name, value] : small()) harness.set(name, value);
    harness.set("variant", "released_default").set(parameter, 3);
    try {
      harness.open();
      ADD_FAILURE() << parameter << " was accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("`" + std::string(parameter) + "` has no effect"));
    }
  }
}

TEST(Scn, AnImageDoesNotDependOnTheOthersOfItsBatch) {
  const Tensor together = output<Scn>(published(), false)[field::embedding];
  Packet one;
  one.set(field::images, batch()[field::images].narrow(0, 2, 1).clone());
  const Tensor alone = output<Scn>(published(), false, one)[field::embedding];
  EXPECT_LT((alone[0] - together[2]).abs().max().item<double>(), 1e-5);
}

TEST(Sdropcapnet, IsTheSameNetworkInEvaluation) {
  const Packet plain = output<Scn>(published(), false);
  const Packet dropped = output<Sdropcapnet>(published({{"initial_dropout", 0.9}}), false);
  EXPECT_TRUE(torch::equal(plain[field::embedding], dropped[field::embedding]));
  EXPECT_FALSE(torch::equal(
      output<Scn>(published(), true)[field::embedding],
      output<Sdropcapnet>(published({{"initial_dropout", 0.9}}), true)[field::embedding]));
}

TEST(Sdropcapnet, AddsItsRegulariserToTheLoss) {
  const Parameters all =
      published({{"regulariser", 0.5}, {"weight_regulariser", 0.25}, {"initial_dropout", 0.2}});
  Harness harness("model", std::make_unique<Sdropcapnet>());
  for (const auto& [name, value] : all) harness.set(name, value);
  Packet with_loss = batch();
  with_loss.set(field::loss, torch::tensor(3.0F));
  harness.training(true).push(batch()).push(with_loss);
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  double squares = 0;
  for (const NamedWeight& weight : dynamic_cast<Trainable&>(harness.runner().stage()).weights()) {
    if (weight.name == "dense.weight") squares = weight.tensor.square().sum().item<double>();
  }
  const double entropy = 5 * (0.2 * std::log(0.2) + 0.8 * std::log(0.8));
  const double expected = 0.5 * (0.25 * squares / 0.8 + entropy);
  const Tensor alone = harness.outputs().at(0)[field::loss];
  EXPECT_NEAR(alone.item<double>(), expected, 1e-5);
  EXPECT_NEAR(harness.outputs().at(1)[field::loss].item<double>(), 3 + expected, 1e-5);
  const at::AutoGradMode gradients(true);
  alone.backward();
  for (const NamedWeight& weight : dynamic_cast<Trainable&>(harness.runner().stage()).weights()) {
    const bool regularised = weight.name == "dense.weight" || weight.name == "dropout.p_logit";
    EXPECT_EQ(weight.tensor.grad().defined(), regularised) << weight.name;
  }
}

TEST(Sdropcapnet, OnlyAcceptedBatchesAreRecorded) {
  const auto recorded = [](bool accepted) {
    Harness harness("model", std::make_unique<Sdropcapnet>());
    for (const auto& [name, value] : published({{"initial_dropout", 0.2}})) {
      harness.set(name, value);
    }
    harness.training(true).push(batch());
    if (accepted) dynamic_cast<Trainable&>(harness.runner().stage()).batch_accepted();
    harness.finish();
    return harness.metrics().count("dropout") > 0 ? harness.metric("dropout") : -1;
  };
  EXPECT_NEAR(recorded(true), 0.2, 1e-6);
  EXPECT_EQ(recorded(false), -1);
}

}  // namespace
}  // namespace seam::stages
