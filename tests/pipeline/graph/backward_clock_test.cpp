#include "pipeline/graph/backward_clock.hpp"

#include "tests/pipeline/graph/flow_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::backward_clock_test {

class BackwardClockTest : public ::testing::Test {
 protected:
  BackwardClockTest() {
    clock_.on_span = [this](const std::string& stage, auto from, auto to) {
      EXPECT_LE(from, to);
      spans_.push_back(stage);
    };
  }
  void node(std::uint64_t number) {
    clock_.entered(number);
    clock_.left();
  }

  BackwardClock clock_;
  std::vector<std::string> spans_;
};

TEST_F(BackwardClockTest, GivesANodeToTheStageThatMadeIt) {
  clock_.made("model", 0, 40);
  clock_.made("reads", 40, 40);
  clock_.made("loss", 41, 44);
  for (const std::uint64_t number : {43U, 41U, 40U, 39U, 0U, 44U}) node(number);
  EXPECT_GT(clock_.take_call_seconds(), 0);
  EXPECT_THAT(spans_, ElementsAre("loss", "model")) << "40 and 44 belong to no stage";
  EXPECT_GT(clock_.seconds_of("model"), 0);
  EXPECT_GT(clock_.seconds_of("loss"), 0);
  EXPECT_EQ(clock_.seconds_of("reads"), 0);
  EXPECT_EQ(clock_.take_call_seconds(), 0) << "only of the last call";
}

TEST_F(BackwardClockTest, WeightsBelongToTheNodeBefore) {
  clock_.made("model", 0, 2);
  clock_.made("loss", 2, 3);
  node(BackwardListener::numberless);
  node(2);
  node(BackwardListener::numberless);
  node(1);
  node(BackwardListener::numberless);
  clock_.take_call_seconds();
  EXPECT_THAT(spans_, ElementsAre("loss", "model"));
}

TEST_F(BackwardClockTest, ANodeWithinANodeIsTheOuterOnes) {
  clock_.made("model", 0, 2);
  clock_.made("loss", 2, 3);
  clock_.entered(2);
  node(0);
  clock_.left();
  clock_.take_call_seconds();
  EXPECT_THAT(spans_, ElementsAre("loss"));
  EXPECT_EQ(clock_.seconds_of("model"), 0);
}

TEST_F(BackwardClockTest, NumbersThatComeAgainAreTheNewStages) {
  clock_.made("model", 0, 10);
  clock_.made("loss", 10, 12);
  clock_.made("other", 0, 12);
  node(11);
  clock_.take_call_seconds();
  EXPECT_THAT(spans_, ElementsAre("other"));
}

class BackwardFlowTest : public FlowTest {};

TEST_F(BackwardFlowTest, TheTimeIsTheModelsAndNotTheOptimizers) {
  constexpr int packets = 5;
  add<Count>("count", packets);
  add<Call<Transform>>(
      "model",
      [](Packet&, Context& context) { BackwardScope::listener()->made(context.stage(), 0, 1); },
      true);
  // An optimizer whose gradients another stage made.
  const auto backward = [](const Packet& /*packet*/) {
    BackwardListener* const listener = BackwardScope::listener();
    ASSERT_NE(listener, nullptr);
    listener->entered(0);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    while (std::chrono::steady_clock::now() < until) {
    }
    listener->left();
  };
  add<CallSink>("adam", backward, true);
  const FlowResult result = run("count -> model -> adam");
  ASSERT_FALSE(result.error) << result.error->full_message();
  const StageCount& model = result.stages[1];
  const StageCount& adam = result.stages[2];
  EXPECT_GE(model.backward_seconds, packets * 0.020);
  EXPECT_EQ(adam.backward_seconds, 0);
  EXPECT_LE(model.busy_seconds + model.backward_seconds + adam.busy_seconds, result.seconds)
      << "everything belongs to one thread";
}

TEST_F(BackwardFlowTest, NobodyListensWhereNothingTrains) {
  add<Count>("count", 1);
  add<Call<Transform>>(
      "model", [](Packet&, Context&) { EXPECT_EQ(BackwardScope::listener(), nullptr); }, true);
  add<Keep>("keep", kept_);
  EXPECT_FALSE(run("count -> model -> keep").error);
}

}  // namespace seam::host::backward_clock_test
