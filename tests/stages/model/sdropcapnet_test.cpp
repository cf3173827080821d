#include "stages/model/sdropcapnet.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>

#include <cmath>
#include <memory>
#include <vector>

#include "stages/model/scn.hpp"
#include "tests/stages/model/network_testing.hpp"

namespace seam::stages::sdropcapnet_test {

using test::Parameters;

Packet batch() {
  return test::images_of(4, 24, 26);
}

std::vector<Packet> batches(testing::Harness& /*harness*/) {
  return {batch(), batch()};
}

Parameters small(Parameters more = {}) {
  more.insert({{"image_height", std::int64_t{24}},
               {"image_width", std::int64_t{26}},
               {"kernel", std::int64_t{5}},
               {"primary_kernel", std::int64_t{3}},
               {"width", std::int64_t{4}},
               {"primary_capsules", std::int64_t{2}},
               {"capsule_size", std::int64_t{4}},
               {"face_capsules", std::int64_t{5}},
               {"face_capsule_size", std::int64_t{3}},
               {"dimensions", std::int64_t{6}}});
  return more;
}

const auto plain_conformance = seam::testing::conformance<Scn>({
    .parameters = small(),
    .packets = batches,
    .refused = {{{"channels", std::int64_t{2}}}, {{"image_height", std::int64_t{6}}}},
});

const auto conformance = seam::testing::conformance<Sdropcapnet>({
    .parameters = small({{"initial_dropout", 0.3}}),
    .packets = batches,
    .refused = {{{"initial_dropout", 1.0}}, {{"temperature", 0.0}}},
});

/// The embeddings by a network that has the same weights in both stages.
template <class Stage>
Tensor embedding(const Parameters& parameters, bool training) {
  testing::Harness harness("model", std::make_unique<Stage>());
  for (const auto& [name, value] : parameters) harness.set(name, value);
  harness.training(training).push(batch());
  EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  return harness.outputs().at(0)[field::embedding].detach();
}

TEST(Sdropcapnet, IsTheSameNetworkInEvaluation) {
  const Parameters often = small({{"initial_dropout", 0.9}});
  EXPECT_TRUE(torch::equal(embedding<Scn>(small(), false), embedding<Sdropcapnet>(often, false)));
  EXPECT_FALSE(torch::equal(embedding<Scn>(small(), true), embedding<Sdropcapnet>(often, true)));
}

TEST(Sdropcapnet, AddsItsRegulariserToTheLoss) {
  const Parameters all =
      small({{"regulariser", 0.5}, {"weight_regulariser", 0.25}, {"initial_dropout", 0.2}});
  test::With<Sdropcapnet> harness(all);
  Packet with_loss = batch();
  with_loss.set(field::loss, torch::tensor(3.0F));
  harness.training(true).push(batch()).push(with_loss);
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  const auto squares = harness.weights_by_name()["dense.weight"].square().sum().item<double>();
  const double entropy = 5 * (0.2 * std::log(0.2) + 0.8 * std::log(0.8));
  const double expected = 0.5 * (0.25 * squares / 0.8 + entropy);
  const Tensor alone = harness.outputs().at(0)[field::loss];
  EXPECT_NEAR(alone.item<double>(), expected, 1e-5);
  EXPECT_NEAR(harness.outputs().at(1)[field::loss].item<double>(), 3 + expected, 1e-5);
  const at::AutoGradMode gradients(true);
  alone.backward();
  for (const NamedWeight& weight : harness.weights()) {
    const bool regularised = weight.name == "dense.weight" || weight.name == "dropout.p_logit";
    EXPECT_EQ(weight.tensor.grad().defined(), regularised) << weight.name;
  }
}

TEST(Sdropcapnet, OnlyAcceptedBatchesAreRecorded) {
  const auto recorded = [](bool accepted) {
    test::With<Sdropcapnet> harness(small({{"initial_dropout", 0.2}}));
    harness.training(true).push(batch());
    if (accepted) dynamic_cast<Trainable&>(harness.runner().stage()).batch_accepted();
    harness.finish();
    return harness.metrics().count("dropout") > 0 ? harness.metric("dropout") : -1;
  };
  EXPECT_NEAR(recorded(true), 0.2, 1e-6);
  EXPECT_EQ(recorded(false), -1);
}

}  // namespace seam::stages::sdropcapnet_test
