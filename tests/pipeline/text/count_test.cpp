#include "pipeline/text/count.hpp"

#include <gtest/gtest.h>

namespace seam::host {
namespace {

TEST(Count, IsGroupedByThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(25882000), "25,882,000");
}

TEST(Count, OnePacketIsNotSeveral) {
  EXPECT_EQ(packets_text(0), "0 packets");
  EXPECT_EQ(packets_text(1), "1 packet");
  EXPECT_EQ(packets_text(25882), "25,882 packets");
}

}  // namespace
}  // namespace seam::host
