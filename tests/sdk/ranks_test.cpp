#include <gtest/gtest.h>
#include <seam/ranks.hpp>

#include <string>

#include "sdk/testing/thread_ranks.hpp"
#include "tests/sdk/echo_ranks.hpp"
#include "tests/support/matchers.hpp"

namespace seam::ranks_test {

using seam::testing::ThreadRanks;

TEST(Ranks, GatherBytesInTheirOrder) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    const std::string letter(static_cast<std::size_t>(own.rank()), 'a');
    EXPECT_THAT(own.all_gather("letters", letter), ElementsAre("", "a", "aa"));
    EXPECT_THAT(own.all_gather("nothing", ""), ElementsAre("", "", ""));
    EXPECT_FALSE(own.parted());
    EXPECT_FALSE(own.is_broken());
    EXPECT_FALSE(own.shall_stop());
  });
}

TEST(Ranks, WhatTheyExchangeInStepsIsCounted) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    const std::string letters(static_cast<std::size_t>(own.rank()), 'a');
    (void)own.all_gather("letters", letters);
    EXPECT_EQ(own.exchanged().bytes, 3U - static_cast<std::size_t>(own.rank()));
    EXPECT_GT(own.exchanged().seconds, 0);
    const double seconds = own.exchanged().seconds;
    (void)own.all_gather("letters", letters, Patience::flow);
    EXPECT_EQ(own.exchanged().bytes, 3U - static_cast<std::size_t>(own.rank()));
    EXPECT_EQ(own.exchanged().seconds, seconds);
  });
}

TEST(Ranks, ARequestToStopReachesAllOfThemWithTheNextExchange) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    if (own.rank() == 2) own.ask_to_stop();
    EXPECT_FALSE(own.shall_stop()) << "not before";
    EXPECT_THAT(own.all_gather("letters", "a"), ElementsAre("a", "a", "a"));
    EXPECT_TRUE(own.shall_stop());
    (void)own.all_gather("letters", "");
    EXPECT_TRUE(own.shall_stop());
  });
}

TEST(Ranks, ThatDoSomethingElsePart) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    (void)own.all_gather("the same", "");
    EXPECT_REFUSED((void)own.all_gather(own.rank() == 1 ? "pears" : "apples", ""), Fault::data,
                   "the ranks do not compute the same: rank 0 is at exchange 2, apples; rank 1 is "
                   "at exchange 2, pears");
    EXPECT_TRUE(own.parted());
    EXPECT_TRUE(own.is_broken());
    EXPECT_TRUE(own.fail(Error("late"))) << "all know";
    EXPECT_REFUSED((void)own.all_gather("more", ""), Fault::internal, "the ranks have parted");
  });
}

TEST(Ranks, AFailureReachesTheOthersInTheirNextExchange) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    if (own.rank() == 2) {
      EXPECT_TRUE(own.fail(Error("the disk is full", Fault::configuration)));
    } else {
      EXPECT_REFUSED((void)own.all_gather("apples", ""), Fault::configuration,
                     "rank 2 failed: the disk is full");
    }
    EXPECT_TRUE(own.parted());
  });
}

TEST(Ranks, EachHasDifferentBytesForTheOthers) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    const std::string from = std::to_string(own.rank()) + " to ";
    const std::string to = " to " + std::to_string(own.rank());
    EXPECT_THAT(own.all_to_all("letters", {from + "0", from + "1", from + "2"}),
                ElementsAre("0" + to, "1" + to, "2" + to));
    EXPECT_EQ(own.exchanged().bytes, 12U);
    EXPECT_REFUSED((void)own.all_to_all(own.rank() == 1 ? "pears" : "apples", {"", "", ""}),
                   Fault::data, "rank 1 is at exchange 2, pears");
  });
}

TEST(Ranks, AllMayFailAtOnce) {
  ThreadRanks ranks(2);
  ranks.run([](Ranks& own) { EXPECT_TRUE(own.fail(Error("no such file"))); });
}

/// The other rank never comes.
std::string no_answer(const std::string& /*bytes*/) {
  throw Error("not all ranks are there");
}

TEST(Ranks, AFailureThatTheOthersDoNotHearOfIsReported) {
  seam::testing::EchoRanks own;
  own.other = no_answer;
  EXPECT_FALSE(own.fail(Error("the disk is full")));
  EXPECT_FALSE(own.parted());
}

TEST(Ranks, AnExchangeThatFailsOnThisRankAloneBreaksTheConnection) {
  seam::testing::EchoRanks own;
  own.other = no_answer;
  EXPECT_REFUSED((void)own.all_gather("apples", ""), Fault::data, "not all ranks are there");
  EXPECT_TRUE(own.is_broken());
  EXPECT_FALSE(own.parted());
}

}  // namespace seam::ranks_test
