#include "stages/retrieval/gathered_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <vector>

namespace gathered_rows_test {

using seam::stages::GatheredRows;

TEST(GatheredRows, AreInTheOrderAskedForHoweverTheyCame) {
  torch::manual_seed(1);
  for (const std::int64_t dimensions : {1, 7}) {
    const torch::Tensor vectors = torch::randn({531, dimensions});
    for (const torch::Tensor& order :
         {torch::arange(531), torch::arange(531).flip(0), torch::randperm(531),
          torch::arange(531).roll(1), torch::arange(531).roll(200)}) {
      GatheredRows gathered;
      EXPECT_EQ(gathered.dimensions(), 0);
      std::int64_t first = 0;
      for (const std::int64_t count : {0, 1, 63, 1, 0, 200, 266}) {
        gathered.add(vectors.narrow(0, first, count));
        first += count;
      }
      ASSERT_EQ(gathered.size(), 531);
      EXPECT_EQ(gathered.dimensions(), dimensions);
      const std::vector<std::int64_t> places(order.data_ptr<std::int64_t>(),
                                             order.data_ptr<std::int64_t>() + 531);
      const torch::Tensor taken = gathered.take_in_order(places);
      EXPECT_TRUE(taken.is_contiguous());
      EXPECT_TRUE(taken.equal(vectors.index_select(0, order)));
      EXPECT_EQ(gathered.size(), 0);
      EXPECT_EQ(gathered.dimensions(), 0);
    }
  }
}

TEST(GatheredRows, AreCopiesInFloat32OfAnyTypeAndLayout) {
  torch::Tensor vectors = torch::tensor({{1.5, 2.5}, {-3.0, 0.25}}, torch::kFloat64);
  GatheredRows gathered;
  gathered.add(vectors.t());
  gathered.add(vectors.to(torch::kBFloat16));
  vectors.zero_();
  const torch::Tensor taken = gathered.take_in_order(std::vector<std::int64_t>{3, 0, 2, 1});
  EXPECT_TRUE(
      taken.equal(torch::tensor({{-3.0F, 0.25F}, {1.5F, -3.0F}, {1.5F, 2.5F}, {2.5F, 0.25F}})));
}

TEST(GatheredRows, RefuseOtherWidthsAndOrdersThatAreNoPermutation) {
  GatheredRows gathered;
  gathered.add(torch::ones({3, 2}));
  EXPECT_REFUSED(gathered.add(torch::ones({1, 3})), seam::Fault::internal,
                 "cannot be collected with those of 2");
  for (const std::vector<std::int64_t>& order : std::vector<std::vector<std::int64_t>>{
           {}, {0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}, {0, 1, 2, 2}}) {
    EXPECT_REFUSED(static_cast<void>(gathered.take_in_order(order)), seam::Fault::internal,
                   "must contain each of them once");
  }
  EXPECT_EQ(gathered.take_in_order(std::vector<std::int64_t>{2, 1, 0}).size(0), 3);
}

}  // namespace gathered_rows_test
