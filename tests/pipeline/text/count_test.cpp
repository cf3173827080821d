#include "pipeline/text/count.hpp"

#include <gtest/gtest.h>

namespace seam::host::count_test {

TEST(Number, HasFourDigits) {
  EXPECT_EQ(number_for_people(0.66312), "0.6631");
  EXPECT_EQ(number_for_people(3.21355), "3.214");
  EXPECT_EQ(number_for_people(10618.4), "10618");
  EXPECT_EQ(number_for_people(-123456), "-123456");
  EXPECT_EQ(number_for_people(1.062e9), "1.062e+09");
  EXPECT_EQ(number_for_people(0.000106), "0.000106");
  EXPECT_EQ(number_for_people(0), "0");
}

TEST(Count, IsGroupedByThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(25882000), "25,882,000");
}

TEST(Mebibytes, HaveADigitBehindThePointIfThereAreFew) {
  EXPECT_EQ(mebibytes_text(0), "0.0 MiB");
  EXPECT_EQ(mebibytes_text(1), "<0.1 MiB");
  EXPECT_EQ(mebibytes_text((1 << 20) * 3 / 2), "1.5 MiB");
  EXPECT_EQ(mebibytes_text((10 << 20) - 1), "10 MiB");
  EXPECT_EQ(mebibytes_text(std::uint64_t{1204} << 20), "1,204 MiB");
}

TEST(Count, OnePacketIsNotSeveral) {
  EXPECT_EQ(packets_text(0), "0 packets");
  EXPECT_EQ(packets_text(1), "1 packet");
  EXPECT_EQ(packets_text(25882), "25,882 packets");
}

}  // namespace seam::host::count_test
