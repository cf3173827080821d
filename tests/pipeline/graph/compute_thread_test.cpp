#include "pipeline/graph/compute_thread.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace seam::host {
namespace compute_thread_test {

TEST(ComputeThread, RunsAllThatIsPostedOnOneThreadInOrder) {
  std::vector<int> order;  // plain: one thread writes it
  std::thread::id first;
  {
    ComputeThread compute;
    compute.run([&] { first = std::this_thread::get_id(); });
    for (int i = 0; i < 100; ++i) {
      compute.post([&, i] {
        EXPECT_EQ(std::this_thread::get_id(), first);
        order.push_back(i);
      });
    }
  }  // finishes what is queued
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(ComputeThread, TakesWorkFromManyThreads) {
  constexpr int each = 1'000;
  int count = 0;
  {
    ComputeThread compute;
    std::vector<std::jthread> posting;
    for (int thread = 0; thread < 4; ++thread) {
      posting.emplace_back([&] {
        for (int i = 0; i < each; ++i) compute.post([&] { ++count; });
      });
    }
    posting.clear();
  }
  EXPECT_EQ(count, 4 * each);
}

TEST(ComputeThread, RethrowsWhatRunThrows) {
  ComputeThread compute;
  EXPECT_THROW(compute.run([] { throw std::runtime_error("no"); }), std::runtime_error);
  int after = 0;
  compute.run([&] { after = 1; });
  EXPECT_EQ(after, 1);
}

TEST(ComputeThread, CountsTheTimeItWaits) {
  ComputeThread compute;
  compute.run([] {});
  EXPECT_GE(compute.take_idle_seconds(), 0.0);
  compute.run([] {});
  EXPECT_GE(compute.take_idle_seconds(), 0.0);
}

}  // namespace compute_thread_test
}  // namespace seam::host
