#include "stages/model/rccapsnet_cls.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace seam::stages::rccapsnet_cls_test {

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

const auto conformance = seam::testing::conformance<RccapsnetCls>({
    .parameters = small,
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch(), batch()};
        },
    .refused = {{{"primary_channels", std::int64_t{17}}}},
});

TEST(RccapsnetCls, ALossOnTheLengthsTrainsAllOfItsWeights) {
  Harness harness("model", std::make_unique<RccapsnetCls>());
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

}  // namespace seam::stages::rccapsnet_cls_test
