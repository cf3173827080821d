/// Flows that end with their first batch.

#include "pipeline/graph/flow.hpp"
#include "tests/pipeline/graph/flow_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::first_batch_test {

class FirstBatchTest : public FlowTest {
 protected:
  FirstBatchTest() {
    options_.extent = Extent::first_batch;
    add<Count>("count", 100'000);
    add<ParallelCall>("decode", nothing);
    add<Keep>("keep", kept_, &ends_);
  }
  FlowResult whole_without_error(const std::string& flow, int threads) {
    FlowResult result = run_well(flow, threads);
    EXPECT_FALSE(result.cancelled);
    return result;
  }
};

TEST_F(FirstBatchTest, OneBatchGoesThroughAndTheStagesEnd) {
  add<Sum>("batch", 3, 5);
  for (const int threads : {1, 2, 8}) {
    kept_.clear();
    ends_ = 0;
    const FlowResult result = whole_without_error("count -> decode -> batch -> keep", threads);
    EXPECT_THAT(numbers(kept_), ElementsAre(0 + 1 + 2)) << threads << " threads";
    EXPECT_EQ(ends_, 1);
    EXPECT_LT(result.stages[0].emitted, 100'000U) << "the source ends as well";
  }
}

TEST_F(FirstBatchTest, ASamplerStopsWhereTheBatchIsMade) {
  add<Sum>("sampler", 2, 0);
  add<Sum>("batch", 2, 0);
  const FlowResult result = whole_without_error("count -> sampler -> decode -> batch -> keep", 2);
  EXPECT_THAT(numbers(kept_), ElementsAre(0 + 1 + 2 + 3));
  EXPECT_LT(result.stages[1].emitted, 50'000U);
}

TEST_F(FirstBatchTest, ASmallerLastBatchIsTheFirstWhereThereIsNoOther) {
  add<Sum>("batch", 1'000'000, 5);
  whole_without_error("count -> decode -> batch -> keep", 2);
  EXPECT_EQ(kept_.size(), 1U);
}

TEST_F(FirstBatchTest, WithoutABatchItIsOnePacket) {
  whole_without_error("count -> decode -> keep", 2);
  EXPECT_THAT(numbers(kept_), ElementsAre(0));
}

TEST_F(FirstBatchTest, ACollectorBehindTheModelIsNotWaitedFor) {
  add<Sum>("batch", 3, 0);
  add<Call<Transform>>("model", nothing, true);
  add<Sum>("gather", 1'000, 2);
  whole_without_error("count -> decode -> batch -> model -> gather -> keep", 2);
  EXPECT_THAT(numbers(kept_), ElementsAre(3, -1, -2)) << "it ends like a complete flow";
}

TEST_F(FirstBatchTest, EachBranchGetsItsBatch) {
  add<Sum>("small", 2, 0);
  add<Sum>("large", 4, 0);
  std::vector<Packet> others;
  add<Keep>("other", others);
  whole_without_error("count -> decode -> {small -> keep, large -> other}", 2);
  EXPECT_THAT(numbers(kept_), ElementsAre(0 + 1));
  EXPECT_THAT(numbers(others), ElementsAre(0 + 1 + 2 + 3));
}

}  // namespace seam::host::first_batch_test
