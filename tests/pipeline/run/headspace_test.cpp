/// The speed of a training flow and of its step alone, with stages that take known times.
#include "pipeline/run/headspace.hpp"

#include <atomic>
#include <csignal>
#include <set>
#include <thread>

#include "pipeline/run/run.hpp"
#include "pipeline/run/stop_signals.hpp"
#include "tests/pipeline/graph/flow_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::headspace_test {

using namespace std::chrono_literals;

/// The engine's threads outlive their test, and must not receive the signals of other tests.
class BlockedSignals {
 public:
  BlockedSignals() {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &before_);
    StopSignals::block();
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals& operator=(BlockedSignals&&) = delete;  // not copyable

 private:
  sigset_t before_{};
};

class HeadspaceTest : public FlowTest {
 protected:
  HeadspaceTest() {
    add<Count>("count", 1'000'000);
    add<Call<Transform>>("slow", [this](Packet&, Context&) {
      ++slow_calls_;
      std::this_thread::sleep_for(20ms);
    });
    add<Call<Transform>>("model", nothing, true);
    const auto note = [this](const Packet& packet) { arrived_.insert(packet.get(number)); };
    add<CallSink>("adam", note, true);
    add<Keep>("keep", kept_);
  }
  FlowResult measure(const std::string& flow = "count -> slow -> model -> adam") {
    options_.run.services = &services_;
    const FlowSpec spec = flow_of(flow);
    return flows_.run(spec, stages_, options_);
  }

  BlockedSignals blocked_;  // first
  std::atomic<std::int64_t> slow_calls_ = 0;
  std::multiset<std::int64_t> arrived_;
  FlowEngine engine_{2};
  HeadspaceFlows flows_{engine_, 300ms};
};

TEST_F(HeadspaceTest, RepeatsTheFirstBatchForTheStepAlone) {
  const FlowResult result = measure();
  ASSERT_FALSE(result.error) << result.error->full_message();
  EXPECT_FALSE(result.cancelled) << "the time was up, but the user did not stop the run";
  ASSERT_TRUE(flows_.measured());
  const Headspace& measured = *flows_.measured();
  EXPECT_EQ(measured.maker, "slow");
  EXPECT_THAT(measured.step, ElementsAre("model", "adam"));
  EXPECT_EQ(arrived_.count(1), 1U);
  EXPECT_GT(arrived_.count(0), 50U) << "alone";
  EXPECT_GT(static_cast<std::int64_t>(arrived_.size()), slow_calls_) << "alone, without 'slow'";
  EXPECT_GT(measured.alone, 3 * measured.whole) << "no wait instead of 20 ms for each";
  EXPECT_THAT(to_text(measured), HasSubstr("The input is the limit"));
  EXPECT_THAT(stages_, Not(Contains(::testing::Key("the repeated batch"))));
  for (const StageCount& count : result.stages) EXPECT_TRUE(stages_.contains(count.stage));
}

TEST(Headspace, IsATableWithAConclusion) {
  EXPECT_EQ(to_text({"train", "batch", {"model", "adam"}, 96, 950, 1000}),
            "flow train, batches of 96 from batch  images/s\n"
            "the whole flow                             950\n"
            "model -> adam alone                       1000\n"
            "The step is the limit: faster input would hardly help.\n");
  EXPECT_THAT(to_text({"train", "batch", {"model", "adam"}, 96, 400, 1000}),
              HasSubstr("The input is the limit: if the stages up to 'batch' were faster, the flow "
                        "could be up to 2.5 times as fast."));
}

TEST_F(HeadspaceTest, RunsOtherFlowsAsUsual) {
  add<Count>("few", 3);
  EXPECT_EQ(measure("few -> model -> keep").stages.size(), 3U);
  EXPECT_EQ(numbers(kept_), up_to(3));
  EXPECT_FALSE(flows_.measured());
}

TEST_F(HeadspaceTest, RejectsAStepThatSeveralStagesFeed) {
  add<Call<Transform>>("other", nothing);
  EXPECT_REFUSED((void)measure("count -> {slow, other} -> model -> adam"), Fault::configuration,
                 "receives packets from slow, other");
}

TEST_F(HeadspaceTest, RejectsAFlowOfOneBatch) {
  add<Count>("one", 1);
  EXPECT_REFUSED((void)measure("one -> slow -> model -> adam"), Fault::configuration,
                 "fewer than two batches");
}

TEST_F(HeadspaceTest, PassesOnAnError) {
  add<Call<Transform>>("slow", [](Packet& packet, Context&) {
    if (packet.get(number) == 3) throw Error("number 3");
  });
  EXPECT_THAT(measure().error->full_message(), HasSubstr("number 3"));
  EXPECT_FALSE(flows_.measured());
}

TEST_F(HeadspaceTest, StopsOnRequest) {
  StopState stop;
  options_.stop = &stop;
  add<Call<Transform>>("stop", [&](Packet& packet, Context&) {
    if (packet.get(number) == 3) stop.soon = true;
  });
  EXPECT_TRUE(measure("count -> slow -> stop -> model -> adam").cancelled);
  EXPECT_FALSE(flows_.measured());
}

}  // namespace seam::host::headspace_test
