#include "stages/model/lenet.hpp"

#include <gtest/gtest.h>
#include <seam/conformance.hpp>

#include <vector>

#include "tests/stages/model/network_testing.hpp"

namespace seam::stages::lenet_test {

const auto conformance = seam::testing::conformance<LeNet>({
    .parameters = {{"image_height", std::int64_t{32}},
                   {"image_width", std::int64_t{32}},
                   {"dimensions", std::int64_t{6}}},
    .packets = test::batches_of(32, 32),
    .refused = {{{"hidden", std::vector<std::int64_t>{4}}}, {{"image_width", std::int64_t{15}}}},
});

TEST(LeNet, HasTheNumbersOfItsLayers) {
  nn::LeNetOptions options;
  options.image_height = 32;
  options.image_width = 32;
  options.dimensions = 10;
  // 6 (75 + 1) + 16 (150 + 1) + 120 (400 + 1) + 84 (120 + 1) + 10 (84 + 1)
  EXPECT_EQ(test::count_of_numbers(*nn::LeNet(options)), 456 + 2416 + 48'120 + 10'164 + 850);
}

}  // namespace seam::stages::lenet_test
