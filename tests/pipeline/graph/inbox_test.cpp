#include "pipeline/graph/inbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace seam::host::inbox_test {

TEST(Inbox, HandsOverInTheOrderOfPutting) {
  Inbox inbox;
  EXPECT_TRUE(inbox.put({0, Message::Kind::gap, 0, nullptr})) << "the first needs a drain";
  EXPECT_FALSE(inbox.put({1, Message::Kind::gap, 0, nullptr})) << "a drain is already due";
  std::vector<std::uint64_t> handled;
  inbox.drain([&](const Message& message) {
    handled.push_back(message.sequence);
    if (message.sequence == 1) {
      EXPECT_FALSE(inbox.put({2, Message::Kind::gap, 0, nullptr}))
          << "the running drain handles it";
    }
  });
  EXPECT_EQ(handled, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_TRUE(inbox.put({3, Message::Kind::gap, 0, nullptr}));
}

TEST(Inbox, LosesNothingAndHasOneDrainAtATimeHoweverManyPut) {
  constexpr std::uint64_t each = 5'000;
  constexpr int threads = 4;
  Inbox inbox;
  std::atomic<int> inside = 0;
  std::uint64_t handled = 0;  // plain: only the one drain touches it
  std::vector<std::uint64_t> next(threads, 0);
  {
    std::vector<std::jthread> putting;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      putting.emplace_back([&, thread] {
        for (std::uint64_t i = 0; i < each; ++i) {
          if (!inbox.put({i, Message::Kind::gap, thread, nullptr})) continue;
          inbox.drain([&](const Message& message) {
            EXPECT_EQ(inside.fetch_add(1), 0);
            EXPECT_EQ(next[message.port]++, message.sequence)
                << "the messages of a thread are in order";
            ++handled;
            inside.fetch_sub(1);
          });
        }
      });
    }
  }
  EXPECT_EQ(handled, each * threads);
}

}  // namespace seam::host::inbox_test
