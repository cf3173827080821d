#include "stages/model/alexnet.hpp"

#include <seam/conformance.hpp>

#include <string>
#include <vector>

#include "tests/stages/model/network_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::alexnet_test {

using Sizes = std::vector<std::int64_t>;

const auto conformance = seam::testing::conformance<AlexNet>({
    .parameters = {{"channels", Sizes{4, 4, 4, 4, 4}},
                   {"hidden", std::int64_t{8}},
                   {"dimensions", std::int64_t{6}}},
    .packets = test::batches_of(63, 63),
    .refused = {{{"channels", Sizes{4, 4}}}},
});

TEST(AlexNet, HasTheNumbersAndNamesOfTorchvision) {
  nn::AlexNetOptions options;
  options.dimensions = 1000;
  const nn::AlexNet network(options);
  EXPECT_EQ(test::count_of_numbers(*network), 61'100'840);  // torchvision's
  std::vector<std::string> names;
  for (const auto& weight : network->named_parameters()) names.push_back(weight.key());
  EXPECT_THAT(names, ElementsAre("features.0.weight", "features.0.bias", "features.3.weight",
                                 "features.3.bias", "features.6.weight", "features.6.bias",
                                 "features.8.weight", "features.8.bias", "features.10.weight",
                                 "features.10.bias", "classifier.1.weight", "classifier.1.bias",
                                 "classifier.4.weight", "classifier.4.bias", "embedding.weight",
                                 "embedding.bias"));
}

}  // namespace seam::stages::alexnet_test
