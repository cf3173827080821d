#include "stages/retrieval/compared_batch.hpp"

#include <gtest/gtest.h>

#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>

namespace seam::stages::compared_batch_test {

TEST(MaskedEmbedding, KeepsTheCapsuleOfTheCategoryInItsPlace) {
  const torch::Tensor capsules = torch::arange(1, 13, torch::kFloat32).view({2, 3, 2});
  const torch::Tensor masked = masked_embedding(capsules, torch::tensor({2, 0}, torch::kInt64));
  EXPECT_TRUE(torch::equal(masked, torch::tensor({{0.F, 0.F, 0.F, 0.F, 5.F, 6.F},  //
                                                  {7.F, 8.F, 0.F, 0.F, 0.F, 0.F}})));
}

TEST(MaskedEmbedding, RefusesCategoriesWithoutACapsule) {
  const torch::Tensor capsules = torch::ones({1, 3, 2});
  EXPECT_REFUSED(static_cast<void>(masked_embedding(capsules, torch::tensor({3}, torch::kInt64))),
                 Fault::data, "row 0 of a batch has category 3");
  EXPECT_REFUSED(static_cast<void>(masked_embedding(capsules, torch::tensor({-1}, torch::kInt64))),
                 Fault::data, "row 0 of a batch has category -1");
  EXPECT_REFUSED(
      static_cast<void>(masked_embedding(capsules, torch::tensor({0, 1}, torch::kInt64))),
      Fault::internal, "masking needs capsules [N,K,D] and categories i64[N]");
}

TEST(Mask, OnlyTheTrueCategoryReadsLabels) {
  EXPECT_FALSE(reads_labels(Mask::none));
  EXPECT_FALSE(reads_labels(Mask::predicted));
  EXPECT_TRUE(reads_labels(Mask::ground_truth));
}

}  // namespace seam::stages::compared_batch_test
