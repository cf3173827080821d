#include "seam/network.hpp"

#include <gtest/gtest.h>

namespace seam::network_test {

NetworkPart network() {
  const NetworkPart norm{"norm",
                         "BatchNorm2d",
                         {{"weight", {64}, TensorUse::frozen},
                          {"running_mean", {64}, TensorUse::buffer},
                          {"batches", {}, TensorUse::buffer}},
                         {}};
  const NetworkPart head{"head", "Linear", {{"weight", {2000, 64}, TensorUse::trained}}, {}};
  const NetworkPart tied{"tied", "Linear", {{"weight", {2000, 64}, TensorUse::shared}}, {}};
  return {"network", "Net", {}, {{"stem", "Sequential", {}, {norm}}, head, tied}};
}

TEST(Network, IsToldAsATree) {
  EXPECT_EQ(
      to_text(network()),
      "network   Net          128,129\n"
      "  stem    Sequential       129\n"
      "    norm  BatchNorm2d      129  weight [64] frozen, running_mean [64] buffer, batches [] "
      "buffer\n"
      "  head    Linear       128,000  weight [2000,64]\n"
      "  tied    Linear             0  weight [2000,64] shared\n"
      "128,129 numbers: 128,000 trained, 64 frozen, 65 in buffers\n");
}

TEST(Network, ItsSizeIsThatOfAllParts) {
  EXPECT_EQ(size_of(network()), (NetworkSize{128000, 64, 65}));
  EXPECT_EQ(size_of(network()).total(), 128129);
  EXPECT_EQ(size_of({"network", "Empty", {{"none", {0, 3}, TensorUse::trained}}, {}}),
            NetworkSize{});
}

}  // namespace seam::network_test
