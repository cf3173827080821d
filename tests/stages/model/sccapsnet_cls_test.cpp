#include "stages/model/sccapsnet_cls.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>

#include <cmath>
#include <string>

#include "stages/model/rccapsnet_cls.hpp"
#include "tests/stages/model/network_testing.hpp"

namespace seam::stages::sccapsnet_cls_test {

const test::Parameters small{{"preset", std::string("as_published")},
                             {"classes", std::int64_t{5}},
                             {"width", std::int64_t{4}},
                             {"primary_channels", std::int64_t{16}}};

const auto conformance = seam::testing::conformance<SccapsnetCls>({
    .parameters = small,
    .packets = test::batches_of(32, 32),
    .refused = {{{"primary_channels", std::int64_t{17}}}, {{"image_height", std::int64_t{32}}}},
});
const auto residual_conformance = seam::testing::conformance<RccapsnetCls>({
    .parameters = small,
    .packets = test::batches_of(32, 32),
    .refused = {{{"primary_channels", std::int64_t{17}}}},
});

template <class Stage>
void expect_lengths_train_all_weights() {
  test::With<Stage> harness(small);
  harness.training(true).push(test::images_of(3, 32, 32));
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  const at::AutoGradMode gradients(true);
  (harness.outputs().at(0)[field::class_lengths] - 0.9).square().sum().backward();
  for (const NamedWeight& weight : harness.weights()) {
    EXPECT_TRUE(weight.tensor.grad().defined()) << weight.name;
  }
}

TEST(CapsuleClassifiers, ALossOnTheLengthsTrainsAllOfTheirWeights) {
  expect_lengths_train_all_weights<SccapsnetCls>();
  expect_lengths_train_all_weights<RccapsnetCls>();
}

/// The network of the released code, with fewer channels.
const test::Parameters released{{"image_height", std::int64_t{224}},
                                {"image_width", std::int64_t{224}},
                                {"width", std::int64_t{2}},
                                {"primary_channels", std::int64_t{16}},
                                {"classes", std::int64_t{5}}};

TEST(SccapsnetCls, AsReleasedItsOwnWeightsAreDrawnFromTheRangeOfKeras) {
  test::With<SccapsnetCls> keras(released);
  keras.open();
  const double range = std::sqrt(6.0 / (5 * 100 * (16 + 16)));  // 5 classes, 10 x 10 capsules
  EXPECT_NEAR(keras.weights_by_name()["w"].abs().max().item<double>(), range, 0.001 * range);
  nn::NetworkOptions options = nn::sccapsnet_cls_as_released();
  options.images = {224, 224};
  options.glorot_fans = nn::GlorotFans::matrix;
  const nn::CapsuleNetwork dense(options, 1);
  const double of_matrix = std::sqrt(6.0 / (16 + 46 * 16));
  EXPECT_NEAR(dense->routing_weight.abs().max().item<double>(), of_matrix, 0.001 * of_matrix);
}

TEST(SccapsnetCls, AsReleasedItsClassCapsulesAreAsRoutingLeavesThem) {
  Packet packet;
  packet.set(field::images, torch::ones({1, 3, 224, 224}));
  const auto longest = [&](const test::Parameters& parameters) {
    const Packet out = test::output<SccapsnetCls>(parameters, packet);
    return out[field::capsules].norm(2, 2).max().item<double>();
  };
  EXPECT_LT(longest(released), 0.5);
  test::Parameters unit = released;
  unit["norm_axis"] = std::string("capsule");
  EXPECT_NEAR(longest(unit), 1, 1e-4);
}

}  // namespace seam::stages::sccapsnet_cls_test
