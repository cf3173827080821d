#include "pipeline/graph/budget.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace seam::host {
namespace {

TEST(Budget, AdmitsOnlyAFewUntilTheFirstPacketIsThrough) {
  Budget budget(100, 1'000'000, 3, [] {});
  std::vector<std::shared_ptr<Ticket>> tickets;
  while (budget.room()) tickets.push_back(budget.admit(10));
  EXPECT_EQ(tickets.size(), 3U);
  tickets.pop_back();
  EXPECT_TRUE(budget.room());
}

TEST(Budget, BoundsPackets) {
  Budget budget(5, 1'000'000, 1, [] {});
  budget.admit(10).reset();  // through at once: sizes are known now
  std::vector<std::shared_ptr<Ticket>> tickets;
  while (budget.room()) tickets.push_back(budget.admit(10));
  EXPECT_EQ(tickets.size(), 5U);
  EXPECT_EQ(budget.packets_peak(), 5);
}

TEST(Budget, ReservesWhatTheLargestPacketNeeded) {
  Budget budget(1'000, 1'000, 1, [] {});
  budget.admit(10)->set_bytes(200);
  std::vector<std::shared_ptr<Ticket>> tickets;
  while (budget.room()) tickets.push_back(budget.admit(10));
  EXPECT_EQ(tickets.size(), 5U) << "five packets of 200 bytes fill 1,000 bytes";
  EXPECT_LE(budget.bytes_peak(), 1'000);
}

TEST(Budget, AlwaysAdmitsOnePacketHoweverLarge) {
  Budget budget(10, 100, 1, [] {});
  budget.admit(10)->set_bytes(5'000);
  EXPECT_TRUE(budget.room());
  const auto ticket = budget.admit(10);
  EXPECT_FALSE(budget.room());
}

TEST(Budget, TellsWhoeverWaitsThatThereIsRoom) {
  int told = 0;
  Budget budget(1, 100, 1, [&] { ++told; });
  auto ticket = budget.admit(1);
  auto copy = ticket;
  ticket = nullptr;
  EXPECT_EQ(told, 0) << "a copy is still under way";
  copy = nullptr;
  EXPECT_EQ(told, 1);
  EXPECT_EQ(budget.finished(), 1U);
}

}  // namespace
}  // namespace seam::host
