#include "stages/loss/double_margin.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <vector>

#include "stages/same.hpp"
#include "tests/stages/loss/batch_loss_testing.hpp"

namespace seam::stages::double_margin_test {

using seam::testing::Harness;

/// Pairs at the distances 0.3 and 0.4.
Packet batch(const std::vector<std::int64_t>& same) {
  Packet packet;
  packet.set(field::embedding,
             torch::tensor({{0.0F, 1.0F}, {0.0F, 1.3F}, {2.0F, 0.0F}, {2.4F, 0.0F}}));
  packet.set(field::same, torch::tensor(same, torch::kInt64));
  return packet;
}

const auto conformance = seam::testing::conformance<DoubleMargin>({
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch({1, 1, 0, 0}), batch({0, 0, 1, 1})};
        },
    .refused = {{{"matching_margin", 0.5}},
                {{"matching_margin", 0.6}},
                {{"distance", std::string("exp_manhattan")}, {"non_matching_margin", 1.0}}},
});

TEST(DoubleMargin, MatchingPairsCostBeyondTheSmallMarginAndOthersWithinTheLargeOne) {
  const auto loss = [](const std::vector<std::int64_t>& same) {
    return test::metrics_of<DoubleMargin>(
        batch(same), {{"matching_margin", 0.1}, {"non_matching_margin", 0.6}})["loss"];
  };
  EXPECT_NEAR(loss({1, 1, 1, 1}), (0.04 + 0.09) / 2, 1e-5);
  EXPECT_NEAR(loss({0, 0, 0, 0}), (0.09 + 0.04) / 2, 1e-5);
  EXPECT_NEAR(loss({1, 1, 0, 0}), (0.04 + 0.04) / 2, 1e-5);
}

}  // namespace seam::stages::double_margin_test
