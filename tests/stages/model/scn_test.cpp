#include "stages/model/scn.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/stages/model/siamese_testing.hpp"

namespace seam::stages {
namespace scn_test {

using seam::testing::Harness;
using test::siamese::batch, test::siamese::batches, test::siamese::output,
    test::siamese::Parameters, test::siamese::published, test::siamese::small;

const auto conformance = seam::testing::conformance<Scn>({
    .parameters = published(),
    .packets = batches,
    .refused = {{{"channels", std::int64_t{2}}}, {{"image_height", std::int64_t{6}}}},
});

TEST(Scn, EmbeddingsHaveUnitLengthUnlessToldOtherwise) {
  const Tensor unit = output<Scn>(published(), false)[field::embedding];
  EXPECT_EQ(unit.sizes(), (std::vector<std::int64_t>{4, 6}));
  EXPECT_LT((unit.norm(2, {1}) - 1).abs().max().item<double>(), 1e-5);
  const Tensor raw = output<Scn>(published({{"unit_length", false}}), false)[field::embedding];
  EXPECT_GT((raw.norm(2, {1}) - 1).abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(torch::allclose(raw / raw.norm(2, {1}, true), unit, 1e-4, 1e-5));
}

TEST(Scn, EveryNonlinearityVariantAndCompatIsAnotherNetwork) {
  const auto with = [](const Parameters& more, bool is_published = true) {
    return output<Scn>(is_published ? published(more) : small(more), false)[field::capsules];
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
    EXPECT_REFUSED(harness.open(), Fault::configuration,
                   "'" + std::string(parameter) +
                       "' of stage 'model' has no effect with variant = \"released_default\"");
  }
}

TEST(Scn, AnImageDoesNotDependOnTheOthersOfItsBatch) {
  const Tensor together = output<Scn>(published(), false)[field::embedding];
  Packet one;
  one.set(field::images, batch()[field::images].narrow(0, 2, 1).clone());
  const Tensor alone = output<Scn>(published(), false, one)[field::embedding];
  EXPECT_LT((alone[0] - together[2]).abs().max().item<double>(), 1e-5);
}

}  // namespace scn_test
}  // namespace seam::stages
