#include "pipeline/run/agreement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <seam/refusal_testing.hpp>

#include "sdk/testing/thread_ranks.hpp"

namespace seam::host::agreement_test {

using seam::testing::ThreadRanks;

TEST(Agreement, RanksWithTheSameTermsAgree) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) { agree_on({{"version", "0.1.0"}, {"lanes", "4"}}, own); });
}

TEST(Agreement, ADifferenceIsNamedOnAllRanks) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    const Terms terms{{"version", "0.1.0"}, {"lanes", own.rank() == 2 ? "8" : "4"}};
    EXPECT_REFUSED(
        agree_on(terms, own), Fault::configuration,
        "the ranks would not compute the same; all of them need the same program, "
        "plugins, files, options and type of processor:\nlanes: 4 on rank 0, 8 on rank 2");
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

TEST(Agreement, APathNeedNotBeUtf8) {
  ThreadRanks ranks(2);
  ranks.run([](Ranks& own) {
    agree_on({{"the start", "a new run from '\xff'"}}, own);
    EXPECT_REFUSED(agree_on({{"the start", own.rank() == 0 ? "\xff" : "a"}}, own),
                   Fault::configuration, "the start: \xef\xbf\xbd on rank 0, a on rank 1");
  });
}

TEST(Agreement, AStateIsItsNamesTypesShapesAndBytes) {
  const auto state = [](const std::string& name, std::int64_t value) {
    StageState state{"model", "model.resnet", {}};
    state.archive.put(name, value);
    return terms_of(std::vector{state});
  };
  EXPECT_EQ(state("a", 1), state("a", 1));
  EXPECT_NE(state("a", 1), state("a", 2));
  EXPECT_NE(state("a", 1), state("b", 1));
  EXPECT_EQ(state("a", 1).at(0).first, "SHA-256 of the state of stage 'model'");
}

TEST(Agreement, ProgramsLibrariesProcessorsAndThreadsAreCompared) {
  RunOptions options;
  const Terms terms = terms_of(Launch(), PipelineSpec(), options);
  for (const auto& [name, value] : terms) {
    if (name == "version" || name == "processor") continue;
    EXPECT_NE(value, "") << name;
  }
  options.threads = 2;
  EXPECT_NE(terms_of(Launch(), PipelineSpec(), options), terms);
}

TEST(Agreement, ARequestToOneRankStopsAllOfThem) {
  ThreadRanks ranks(3);
  ranks.run([](Ranks& own) {
    EXPECT_FALSE(agree_to_stop(own));
    if (own.rank() == 1) own.ask_to_stop();
    EXPECT_TRUE(agree_to_stop(own));
    if (own.rank() == 0) {
      EXPECT_TRUE(agree_to_stop(own)) << "without asking again";
    }
  });
}

}  // namespace seam::host::agreement_test
