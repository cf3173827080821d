#include "pipeline/graph/work_thread.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <vector>

namespace seam::host::work_thread_test {

TEST(WorkThread, RunsAllThatIsPostedOnOneThreadInOrder) {
  std::vector<int> order;  // plain: one thread writes it
  std::thread::id first;
  {
    WorkThread compute;
    compute.run([&] { first = std::this_thread::get_id(); });
    for (int i = 0; i < 100; ++i) {
      compute.post([&, i] {
        EXPECT_EQ(std::this_thread::get_id(), first);
        order.push_back(i);
      });
    }
  }  // finishes the queued work
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(WorkThread, TakesWorkFromManyThreads) {
  constexpr int each = 1'000;
  int count = 0;
  {
    WorkThread compute;
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

TEST(WorkThread, RethrowsWhatRunThrows) {
  WorkThread compute;
  EXPECT_THROW(compute.run([] { throw std::runtime_error("no"); }), std::runtime_error);
  int after = 0;
  compute.run([&] { after = 1; });
  EXPECT_EQ(after, 1);
}

TEST(WorkThread, CountsTheTimeItWaits) {
  WorkThread compute;
  // It waits before nearly every piece of work; a single one may come before it looks.
  double waited = 0;
  for (int i = 0; i < 10'000 && waited == 0; ++i) {
    compute.run([] {});
    waited = compute.take_idle_seconds();
  }
  EXPECT_GT(waited, 0.0);
  std::latch held(1);
  std::latch go_on(1);
  compute.post([&] {
    held.count_down();
    go_on.wait();
  });
  held.wait();
  (void)compute.take_idle_seconds();
  EXPECT_EQ(compute.take_idle_seconds(), 0.0) << "it has not waited since the last call";
  go_on.count_down();
  compute.run([] {});  // the latches are destroyed before the thread
}

}  // namespace seam::host::work_thread_test
