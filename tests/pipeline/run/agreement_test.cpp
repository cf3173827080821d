#include "pipeline/run/agreement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <seam/refusal_testing.hpp>

#include "tests/sdk/thread_ranks.hpp"

namespace seam::host {
namespace agreement_test {

using seam::testing::ThreadRanks;

TEST(Agreement, RanksWithTheSameTermsAgree) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) { agree_on({{"version", "0.1.0"}, {"lanes", "4"}}, own); });
}

TEST(Agreement, ADifferenceIsNamedOnAllRanks) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    const Terms terms{{"version", "0.1.0"}, {"lanes", own.rank() == 2 ? "8" : "4"}};
    EXPECT_REFUSED(agree_on(terms, own), Fault::configuration,
                   "the ranks would not compute the same; all of them need the same program, "
                   "plugins, files and options:\nlanes: 4 on rank 0, 8 on rank 2");
  });
}

TEST(Agreement, ATermThatARankLacksIsADifference) {
  ThreadRanks ranks(2);
  ranks.run([](Ranks& own) {
    Terms terms{{"version", "0.1.0"}};
    if (own.rank() == 1) terms.emplace_back("SHA-256 of seam_mine.so", "abc");
    EXPECT_REFUSED(agree_on(terms, own), Fault::configuration,
                   "\nSHA-256 of seam_mine.so: nothing on rank 0, abc on rank 1");
  });
}

TEST(Agreement, ARequestToOneRankStopsAllOfThem) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    StopState stop;
    AgreedStop agreed(own, stop);
    EXPECT_FALSE(agreed.requested());
    if (own.rank() == 1) stop.soon = true;
    EXPECT_TRUE(agreed.requested());
    if (own.rank() == 0) {
      EXPECT_TRUE(agreed.requested()) << "without asking again";
    }
  });
}

}  // namespace agreement_test
}  // namespace seam::host
