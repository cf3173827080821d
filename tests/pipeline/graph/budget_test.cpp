#include "pipeline/graph/budget.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace seam::host::budget_test {

constexpr auto nobody_waits = [] {};

/// A packet that has finished and needed this many bytes.
void through(Budget& budget, PacketSizes& maker, std::int64_t bytes) {
  const Share share(budget.admit(maker, 10), bytes);
}

std::vector<std::shared_ptr<Ticket>> fill(Budget& budget, PacketSizes& maker) {
  std::vector<std::shared_ptr<Ticket>> tickets;
  while (budget.room(maker)) tickets.push_back(budget.admit(maker, 10));
  return tickets;
}

TEST(Budget, AdmitsOnlyAFewUntilTheFirstPacketIsThrough) {
  Budget budget(100, 1'000'000, 3, nobody_waits);
  PacketSizes& maker = budget.add_maker();
  std::vector<std::shared_ptr<Ticket>> tickets = fill(budget, maker);
  EXPECT_EQ(tickets.size(), 3U);
  tickets.pop_back();
  EXPECT_TRUE(budget.room(maker));
}

TEST(Budget, BoundsPacketsAndIsWorthWakingASourceForAQuarterOfThem) {
  Budget budget(8, 1'000'000, 1, nobody_waits);
  PacketSizes& maker = budget.add_maker();
  EXPECT_TRUE(budget.worth_waking(maker));
  through(budget, maker, 10);
  std::vector<std::shared_ptr<Ticket>> tickets = fill(budget, maker);
  ASSERT_EQ(tickets.size(), 8U);
  EXPECT_EQ(budget.packets_peak(), 8);
  EXPECT_FALSE(budget.worth_waking(maker));
  tickets.pop_back();
  EXPECT_TRUE(budget.room(maker));
  EXPECT_FALSE(budget.worth_waking(maker));
  tickets.pop_back();
  EXPECT_TRUE(budget.worth_waking(maker));
}

TEST(Budget, AlwaysAdmitsOnePacketHoweverLarge) {
  Budget budget(10, 100, 1, nobody_waits);
  PacketSizes& maker = budget.add_maker();
  through(budget, maker, 1'000);
  EXPECT_TRUE(budget.worth_waking(maker));
  std::vector<std::shared_ptr<Ticket>> tickets = fill(budget, maker);
  EXPECT_EQ(tickets.size(), 1U);
  EXPECT_FALSE(budget.worth_waking(maker));
  tickets.clear();
  EXPECT_TRUE(budget.worth_waking(maker));
}

TEST(Budget, ReservesWhatPacketsOfTheSameMakerNeeded) {
  Budget budget(1'000, 1'000, 1, nobody_waits);
  PacketSizes& maker = budget.add_maker();
  through(budget, maker, 200);
  EXPECT_EQ(fill(budget, maker).size(), 5U) << "five packets of 200 bytes fill 1,000 bytes";
  EXPECT_LE(budget.bytes_peak(), 1'000);
}

TEST(Budget, ABatchDoesNotMakeItsPicturesLookLarge) {
  Budget budget(1'000, 1'000, 1, nobody_waits);
  PacketSizes& pictures = budget.add_maker();
  PacketSizes& batches = budget.add_maker();
  through(budget, pictures, 10);
  through(budget, batches, 700);
  const auto tickets = fill(budget, pictures);
  EXPECT_EQ(tickets.size(), 100U);
  EXPECT_FALSE(budget.room(batches));
}

TEST(Budget, ForgetsAHugePacketAfterSomeThatAreNot) {
  Budget budget(1'000'000, 100'000, 1, nobody_waits);
  PacketSizes& maker = budget.add_maker();
  through(budget, maker, 100'000);
  EXPECT_EQ(fill(budget, maker).size(), 1U);
  for (int i = 0; i < 100; ++i) through(budget, maker, 100);
  EXPECT_GE(fill(budget, maker).size(), 900U);
}

TEST(Budget, APacketThatOutgrowsItsReservationRaisesThatOfTheNext) {
  Budget budget(1'000, 1'000, 1, nobody_waits);
  PacketSizes& maker = budget.add_maker();
  through(budget, maker, 10);
  const Share grown(budget.admit(maker, 10), 400);
  EXPECT_EQ(fill(budget, maker).size(), 1U) << "400 are held, and 400 are reserved for one";
}

TEST(Budget, TellsWhoeverWaitsThatThereIsRoom) {
  int calls = 0;
  Budget budget(1, 100, 1, [&] { ++calls; });
  auto ticket = budget.admit(budget.add_maker(), 1);
  auto copy = ticket;
  ticket = nullptr;
  EXPECT_EQ(calls, 0) << "a copy is still in flight";
  copy = nullptr;
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(budget.finished(), 1U);
}

TEST(Budget, AddsUpWhatTheHoldersOfATicketHold) {
  Budget budget(10, 1'000, 1, nobody_waits);
  PacketSizes& maker = budget.add_maker();
  const auto ticket = budget.admit(maker, 10);
  {
    const Share whole(ticket, 100);
    const Share a(ticket, 30);
    Share b(ticket, 0);
    b.set(50);
    EXPECT_EQ(budget.bytes(), 180);
  }
  EXPECT_EQ(budget.bytes(), 180) << "the peak stays reserved while the packet may grow again";
}

TEST(Budget, GivesBackAllBytesHoweverManyThreadsChangeThem) {
  constexpr int rounds = 2'000;
  Budget budget(10, 1'000, 1, nobody_waits);
  PacketSizes& maker = budget.add_maker();
  for (int round = 0; round < rounds; ++round) {
    auto ticket = budget.admit(maker, 0);
    std::vector<std::jthread> branches;
    for (int branch = 0; branch < 3; ++branch) {
      branches.emplace_back([share = Share(ticket, 0), branch]() mutable {
        for (std::int64_t bytes = 1; bytes < 200; ++bytes) share.set(bytes * (branch + 1));
      });
    }
    branches.clear();
    ticket = nullptr;
    ASSERT_EQ(budget.bytes(), 0) << "round " << round;
  }
  EXPECT_EQ(budget.packets(), 0);
}

}  // namespace seam::host::budget_test
