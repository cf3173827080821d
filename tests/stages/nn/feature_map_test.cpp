#include "stages/nn/feature_map.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>

#include <cstdint>
#include <vector>

namespace seam::nn::feature_map_test {

TEST(FeatureMap, HasTheChannelsAndAtLeastOnePixel) {
  check_feature_map(torch::zeros({2, 4, 1, 3}), 4);
  check_feature_map(torch::zeros({0, 4, 1, 1}), 4);
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{2, 4, 0, 3}, {2, 4, 3, 0}, {2, 5, 3, 3}, {2, 4, 3}}) {
    EXPECT_REFUSED(check_feature_map(torch::zeros(sizes), 4), Fault::configuration,
                   "and not [N,4,H,W]")
        << torch::IntArrayRef(sizes);
  }
}

}  // namespace seam::nn::feature_map_test
