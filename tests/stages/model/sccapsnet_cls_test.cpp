#include "stages/model/sccapsnet_cls.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace seam::stages::sccapsnet_cls_test {

using seam::testing::Harness;

Packet batch() {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({3, 3, 32, 32}));
  return packet;
}

const std::map<std::string, Value> small{{"preset", std::string("as_published")},
                                         {"classes", std::int64_t{5}},
                                         {"width", std::int64_t{4}},
                                         {"primary_channels", std::int64_t{16}}};

const auto conformance = seam::testing::conformance<SccapsnetCls>({
    .parameters = small,
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch(), batch()};
        },
    .refused = {{{"primary_channels", std::int64_t{17}}}, {{"image_height", std::int64_t{32}}}},
});

TEST(SccapsnetCls, ALossOnTheLengthsTrainsAllOfItsWeights) {
  Harness harness("model", std::make_unique<SccapsnetCls>());
  for (const auto& [name, value] : small) harness.set(name, value);
  harness.training(true).push(batch());
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  const Packet& out = harness.outputs().at(0);
  EXPECT_EQ(out[field::class_lengths].sizes(), (std::vector<std::int64_t>{3, 5}));
  const at::AutoGradMode gradients(true);
  (out[field::class_lengths] - 0.9).square().sum().backward();
  for (const NamedWeight& weight : dynamic_cast<Trainable&>(harness.runner().stage()).weights()) {
    EXPECT_TRUE(weight.tensor.grad().defined()) << weight.name;
  }
}

/// The network of the released code, with fewer channels.
Harness& released(Harness& harness) {
  return harness.set("width", 2).set("primary_channels", 16).set("classes", 5).compute_threads(1);
}

TEST(SccapsnetCls, AsReleasedItsOwnWeightsAreDrawnFromTheRangeOfKeras) {
  const auto largest = [](Harness& harness) {
    harness.open();
    double most = 0;
    for (const NamedWeight& weight : dynamic_cast<Trainable&>(harness.runner().stage()).weights()) {
      if (weight.name == "w") most = weight.tensor.abs().max().item<double>();
    }
    return most;
  };
  Harness keras("model", std::make_unique<SccapsnetCls>());
  const double range = std::sqrt(6.0 / (5 * 100 * (16 + 16)));  // 5 classes, 10 x 10 capsules
  EXPECT_NEAR(largest(released(keras)), range, 0.001 * range);
  nn::NetworkOptions options = nn::sccapsnet_cls_as_released();
  options.glorot_fans = nn::GlorotFans::matrix;
  const nn::CapsuleNetwork dense(options, 1);
  const double of_matrix = std::sqrt(6.0 / (16 + 46 * 16));
  EXPECT_NEAR(dense->routing_weight.abs().max().item<double>(), of_matrix, 0.001 * of_matrix);
}

TEST(SccapsnetCls, AsReleasedItsClassCapsulesAreAsRoutingLeavesThem) {
  const auto longest = [](Harness& harness) {
    Packet packet;
    packet.set(field::images, torch::ones({1, 3, 224, 224}));
    harness.push(std::move(packet)).finish();
    return harness.outputs().at(0)[field::capsules].norm(2, 2).max().item<double>();
  };
  Harness plain("model", std::make_unique<SccapsnetCls>());
  EXPECT_LT(longest(released(plain)), 0.5);
  Harness unit("model", std::make_unique<SccapsnetCls>());
  EXPECT_NEAR(longest(released(unit).set("norm_axis", "capsule")), 1, 1e-4);
}

}  // namespace seam::stages::sccapsnet_cls_test
