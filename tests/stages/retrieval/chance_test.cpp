#include "stages/retrieval/chance.hpp"

#include <gtest/gtest.h>

namespace seam::stages {
namespace chance_test {

TEST(Chance, AtTheSizesOfInShop) {
  // 12,612 images of 3,985 items: three of them a query's, on average.
  EXPECT_NEAR(chance_of_hit(12'612, 3, 10), 0.0024, 0.0001);
  EXPECT_NEAR(chance_of_hit(12'612, 3, 50), 0.0118, 0.0001);
}

TEST(Chance, AtTheEdges) {
  EXPECT_EQ(chance_of_hit(10, 0, 5), 0);
  EXPECT_EQ(chance_of_hit(10, 10, 1), 1);
  EXPECT_EQ(chance_of_hit(10, 1, 10), 1);
  EXPECT_EQ(chance_of_hit(10, 1, 500), 1);
  EXPECT_NEAR(chance_of_hit(10, 1, 9), 0.9, 1e-15);
}

}  // namespace chance_test
}  // namespace seam::stages
