#include "pipeline/graph/queue_count.hpp"

#include <gtest/gtest.h>

namespace seam::host::queue_count_test {

TEST(QueueCount, KnowsTheLongestQueueExactly) {
  QueueCount count;
  for (const int longest : {1, 3, 2, 7, 5}) {
    for (int i = 0; i < longest; ++i) count.enter();
    EXPECT_EQ(count.waiting(), static_cast<std::uint64_t>(longest));
    for (int i = 0; i < longest; ++i) count.leave();
  }
  EXPECT_EQ(count.waiting(), 0U);
  EXPECT_EQ(count.most(), 7U);
  for (int i = 0; i < 100; ++i) {
    count.enter();
    count.leave();
  }
  EXPECT_EQ(count.most(), 7U) << "one at a time makes no queue";
  for (int i = 0; i < 7; ++i) count.enter();
  count.leave();
  count.enter();
  EXPECT_EQ(count.waiting(), 7U);
  EXPECT_EQ(count.most(), 7U) << "what has left does not count";
}

}  // namespace seam::host::queue_count_test
