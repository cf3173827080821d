#include "stages/model/scn.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <string>
#include <vector>

#include "tests/stages/model/siamese_testing.hpp"

namespace seam::stages::scn_test {

using test::siamese::batch, test::siamese::batches, test::siamese::output,
    test::siamese::Parameters, test::siamese::small;

const auto conformance = seam::testing::conformance<Scn>({
    .parameters = small(),
    .packets = batches,
    .refused = {{{"channels", std::int64_t{2}}}, {{"image_height", std::int64_t{6}}}},
});

TEST(Scn, EmbeddingsHaveUnitLengthUnlessToldOtherwise) {
  const Tensor unit = output<Scn>(small(), false)[field::embedding];
  EXPECT_EQ(unit.sizes(), (std::vector<std::int64_t>{4, 6}));
  EXPECT_LT((unit.norm(2, {1}) - 1).abs().max().item<double>(), 1e-5);
  const Tensor raw = output<Scn>(small({{"unit_length", false}}), false)[field::embedding];
  EXPECT_GT((raw.norm(2, {1}) - 1).abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(torch::allclose(raw / raw.norm(2, {1}, true), unit, 1e-4, 1e-5));
}

TEST(Scn, IterationsAndCompatMakeAnotherNetwork) {
  const auto with = [](const Parameters& more) {
    return output<Scn>(small(more), false)[field::capsules];
  };
  const Tensor usual = with({});
  EXPECT_FALSE(torch::allclose(usual, with({{"iterations", std::int64_t{2}}})));
  EXPECT_TRUE(torch::equal(usual, with({{"iterations", std::int64_t{4}}})));
  EXPECT_FALSE(torch::allclose(
      usual, with({{"compat", std::string("routes_softmax")}, {"weight_deviation", 0.1}})));
}

TEST(Scn, AnImageDoesNotDependOnTheOthersOfItsBatch) {
  const Tensor together = output<Scn>(small(), false)[field::embedding];
  Packet one;
  one.set(field::images, batch()[field::images].narrow(0, 2, 1).clone());
  const Tensor alone = output<Scn>(small(), false, one)[field::embedding];
  EXPECT_LT((alone[0] - together[2]).abs().max().item<double>(), 1e-5);
}

}  // namespace seam::stages::scn_test
