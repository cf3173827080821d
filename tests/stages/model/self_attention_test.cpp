#include "stages/model/self_attention.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include "tests/stages/model/descriptor_capsules_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::self_attention_test {

using seam::testing::Harness;

const auto attention_conformance = seam::testing::conformance<SelfAttention>({
    .parameters = {{"channels", std::int64_t{16}}},
    .packets = [](Harness&) { return batches({field::feature_map}); },
    .refused = {{{"channels", std::int64_t{0}}}},
    .without_effect = {{"precision", "attention is computed in float32"}},
});

TEST(SelfAttentionStage, ReplacesTheMap) {
  With<SelfAttention> harness(Parameters{{"channels", std::int64_t{16}}});
  harness.push(batch(2));
  ASSERT_THAT(harness.errors(), IsEmpty());
  EXPECT_TRUE(torch::equal(harness.outputs().at(0)[field::feature_map],
                           batch(2)[field::feature_map]));  // gamma is 0
}

}  // namespace seam::stages::self_attention_test
