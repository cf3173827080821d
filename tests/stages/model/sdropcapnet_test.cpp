#include "stages/model/sdropcapnet.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <memory>

#include "stages/model/scn.hpp"
#include "tests/stages/model/siamese_testing.hpp"

namespace seam::stages::sdropcapnet_test {

using seam::testing::Harness;
using test::siamese::batch, test::siamese::batches, test::siamese::output,
    test::siamese::Parameters, test::siamese::small;

const auto conformance = seam::testing::conformance<Sdropcapnet>({
    .parameters = small({{"initial_dropout", 0.3}}),
    .packets = batches,
    .refused = {{{"initial_dropout", 1.0}}, {{"temperature", 0.0}}},
});

TEST(Sdropcapnet, IsTheSameNetworkInEvaluation) {
  const Packet plain = output<Scn>(small(), false);
  const Packet dropped = output<Sdropcapnet>(small({{"initial_dropout", 0.9}}), false);
  EXPECT_TRUE(torch::equal(plain[field::embedding], dropped[field::embedding]));
  EXPECT_FALSE(
      torch::equal(output<Scn>(small(), true)[field::embedding],
                   output<Sdropcapnet>(small({{"initial_dropout", 0.9}}), true)[field::embedding]));
}

TEST(Sdropcapnet, AddsItsRegulariserToTheLoss) {
  const Parameters all =
      small({{"regulariser", 0.5}, {"weight_regulariser", 0.25}, {"initial_dropout", 0.2}});
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
    for (const auto& [name, value] : small({{"initial_dropout", 0.2}})) {
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

}  // namespace seam::stages::sdropcapnet_test
