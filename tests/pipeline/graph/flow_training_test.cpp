/// Flows that train: one batch at a time from the first stage on the compute thread on, regardless
/// of the stages between it and the optimizer, with calls in the same order for any number of
/// threads.

#include <stdexcept>
#include <thread>

#include "pipeline/graph/flow.hpp"
#include "pipeline/graph/plan.hpp"
#include "seam/network.hpp"
#include "tests/pipeline/graph/flow_fixture.hpp"
#include "tests/sdk/echo_ranks.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::flow_training_test {

using ::testing::ElementsAreArray;

class Calls {
 public:
  void note(const std::string& stage, const Packet& packet) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(stage + " " + std::to_string(packet.get(number)));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::exchange(calls_, {}); }

 private:
  std::mutex mutex_;
  std::vector<std::string> calls_;
};

class FlowTrainingTest : public FlowTest {
 protected:
  using Body = std::function<void(Packet&, Context&)>;
  void compute(const std::string& name, Body body = nothing) {
    add<Call<Transform>>(name, noting(name, std::move(body)), true);
  }
  void serial(const std::string& name) { add<Call<Transform>>(name, noting(name, nothing)); }
  void parallel(const std::string& name) { add<ParallelCall>(name, noting(name, nothing)); }
  void adam() {
    const auto note = [this](const Packet& packet) { calls_.note("adam", packet); };
    add<CallSink>("adam", note, true);
  }
  /// Outside the step, and late for every other packet.
  void late(const std::string& name) {
    add<ParallelCall>(name, [](Packet& packet, Context&) {
      for (std::int64_t i = 0; i < packet.get(number) % 2 * 100; ++i) std::this_thread::yield();
    });
  }
  Body noting(const std::string& name, Body body) {
    return [this, name, body = std::move(body)](Packet& packet, Context& context) {
      calls_.note(name, packet);
      body(packet, context);
    };
  }
  /// Runs with 1, 2 and 8 threads; each time the same calls must have been made, in this order.
  void expect(const std::string& flow, const std::vector<std::string>& calls) {
    for (const int threads : {1, 2, 8}) {
      run_well(flow, threads);
      EXPECT_THAT(calls_.take(), ElementsAreArray(calls)) << threads << " threads";
    }
  }
  /// "model 0", "loss 0", "model 1", ...
  static std::vector<std::string> each(std::int64_t count, const std::vector<std::string>& stages) {
    std::vector<std::string> calls;
    for (std::int64_t i = 0; i < count; ++i) {
      for (const std::string& stage : stages) calls.push_back(stage + " " + std::to_string(i));
    }
    return calls;
  }

  Calls calls_;
};

TEST_F(FlowTrainingTest, OneBatchAtATimeAcrossAFork) {
  add<Count>("count", 100);
  compute("model");
  compute("loss");
  adam();
  compute("index");
  const std::string flow = "count -> model -> {loss -> adam, index}";
  expect(flow, each(100, {"model", "loss", "adam", "index"}));
}

TEST_F(FlowTrainingTest, OneBatchAtATimeAcrossPlainStages) {
  add<Count>("count", 100);
  compute("model");
  serial("serial");
  parallel("parallel");
  compute("loss");
  adam();
  expect("count -> model -> serial -> parallel -> loss -> adam",
         each(100, {"model", "serial", "parallel", "loss", "adam"}));
}

TEST_F(FlowTrainingTest, OneBatchAtATimeAcrossAForkAndAJoin) {
  add<Count>("count", 100);
  compute("model");
  parallel("a");
  serial("b");
  compute("loss");
  adam();
  parallel("behind");
  const std::string flow = "count -> model -> {a, b} -> loss -> {adam, behind}";
  expect(flow, each(100, {"model", "a", "b", "loss", "adam", "behind"}));
}

TEST_F(FlowTrainingTest, WaitsForABranchBesideTheStep) {
  add<Count>("count", 100);
  compute("model");
  late("beside");
  compute("loss");
  adam();
  const std::string flow = "count -> {model, beside} -> loss -> adam";
  expect(flow, each(100, {"model", "loss", "adam"}));
}

TEST_F(FlowTrainingTest, SeveralStagesBeginAStepInTheFlowsOrder) {
  add<Count>("count", 100);
  compute("first");
  late("late");
  compute("second");
  compute("loss");
  adam();
  compute("other");
  const std::string flow = "count -> {{first, late -> second} -> loss -> adam, other}";
  expect(flow, each(100, {"first", "second", "loss", "adam", "other"}));
}

TEST_F(FlowTrainingTest, DropsAndFailuresEndAStepToo) {
  options_.stage_specs["loss"].on_error = OnError::skip;
  add<Count>("count", 40);
  late("late");
  compute("model", [](Packet& packet, Context& context) {
    if (packet.get(number) % 4 == 1) context.drop("one");
  });
  compute("loss", [](Packet& packet, Context&) {
    if (packet.get(number) % 4 == 2) throw std::runtime_error("two");
  });
  adam();
  compute("index");
  const std::string flow = "count -> late -> model -> {loss -> adam, index}";
  std::vector<std::string> calls;
  for (int i = 0; i < 40; ++i) {
    const std::string text = " " + std::to_string(i);
    calls.push_back("model" + text);
    if (i % 4 == 1) continue;
    calls.push_back("loss" + text);
    if (i % 4 != 2) calls.push_back("adam" + text);
    calls.push_back("index" + text);
  }
  expect(flow, calls);
}

// The others would take the step, or the batch, without this rank.
TEST_F(FlowTrainingTest, AFailedExchangeWithRanksIsNeitherSkippedNorTriedAgain) {
  for (const OnError on_error : {OnError::skip, OnError::retry}) {
    seam::testing::EchoRanks ranks;
    ranks.other = [](const std::string& bytes) {
      if (bytes.find("batch 2") != std::string::npos) throw Error("rank 1 is lost");
      return bytes;
    };
    options_.run.lanes.ranks = &ranks;
    options_.stage_specs["model"].on_error = on_error;
    options_.stage_specs["model"].retries = 3;
    add<Count>("count", 5);
    compute("model", [&](Packet& packet, Context&) {
      (void)ranks.all_gather("batch " + std::to_string(packet.get(number)), "");
    });
    adam();
    EXPECT_THAT(failure_of("count -> model -> adam"), HasSubstr("rank 1 is lost"));
    EXPECT_THAT(calls_.take(),
                ElementsAreArray({"model 0", "adam 0", "model 1", "adam 1", "model 2"}));
  }
}

TEST_F(FlowTrainingTest, RanksThatStopWakeASourceThatWaits) {
  seam::testing::EchoRanks ranks;
  options_.run.lanes.ranks = &ranks;
  add<Listen>("listen", false);
  compute("model", [&](Packet&, Context&) {
    ranks.ask_to_stop();
    (void)ranks.all_gather("a batch", "");
  });
  adam();
  EXPECT_TRUE(run("listen -> model -> adam").cancelled);
}

TEST_F(FlowTrainingTest, TheOrderOfStepsIsFixedIfOneStageNumbersTheirBatches) {
  add<Count>("count", 5);
  add<Count>("other", 5);
  parallel("parallel");
  for (const char* model : {"model", "other_model", "third_model"}) compute(model);
  adam();
  add<CallSink>(
      "other_adam", [](const Packet&) {}, true);
  const auto numberings = [this](const FlowSpec& flow) {
    return numberings_of_step(flow, plan_of(flow, runners_of(flow, stages_), {}));
  };
  EXPECT_THAT(
      numberings(flow_of("count -> parallel -> {model, other_model} -> third_model -> adam")),
      ElementsAre(0));
  FlowSpec flow;
  flow.nodes = {{"count", {}, {}}, {"model", {0}, {}},       {"adam", {1}, {}},
                {"other", {}, {}}, {"other_model", {3}, {}}, {"other_adam", {4}, {}}};
  EXPECT_THAT(numberings(flow), ElementsAre(0, 3));
}

/// Notes whether it could exchange results with other ranks.
class Network final : public Transform, public DescribesNetwork {
 public:
  explicit Network(std::vector<bool>& exchanges) : exchanges_(exchanges) {}
  void declare(Declaration& d) override {
    declare_call(d, {});
    d.offers<DescribesNetwork>(*this);
  }
  void process(Packet& /*packet*/, Context& context) override {
    exchanges_.push_back(context.lanes().ranks != nullptr);
  }
  [[nodiscard]] bool on_compute_thread() const override { return true; }
  [[nodiscard]] NetworkPart describe_network() const override { return {}; }

 private:
  std::vector<bool>& exchanges_;
};

// Otherwise the order of their calls, and so of the exchanges, would depend on timing.
TEST_F(FlowTrainingTest, RanksShareNetworksThatFollowEachOtherOrTrain) {
  seam::testing::EchoRanks ranks;
  options_.run.lanes.ranks = &ranks;
  std::vector<bool> exchanges;
  const auto run_once = [&](const std::string& flow) {
    exchanges.clear();
    add<Count>("count", 1);
    add<Network>("trunk", exchanges);
    add<Network>("head", exchanges);
    parallel("parallel");
    adam();
    run_well(flow);
    return exchanges;
  };
  EXPECT_THAT(run_once("count -> parallel -> trunk -> head"), ElementsAre(true, true));
  EXPECT_THAT(run_once("count -> trunk -> parallel -> head"), ElementsAre(false, false));
  EXPECT_THAT(run_once("count -> {trunk, head}"), ElementsAre(false, false));
  EXPECT_THAT(run_once("count -> trunk -> parallel -> head -> adam"), ElementsAre(true, true));
}

// Packets held by a collector inside the step do not block the next batch, even if one packet fills
// the capacity; the packets that it emits are processed one by one, also at its end.
TEST_F(FlowTrainingTest, ACollectorInsideTheStepSendsOnOneByOne) {
  options_.limits.packets = 1;
  add<Count>("count", 5);
  compute("model");
  add<Sum>("sum", 2, 2);
  compute("head");
  adam();
  compute("index");
  const std::string flow = "count -> model -> sum -> {head -> adam, index}";
  std::vector<std::string> calls;
  const auto through = [&](int value) {
    for (const char* stage : {"head ", "adam ", "index "}) {
      calls.push_back(stage + std::to_string(value));
    }
  };
  for (int i = 0; i < 5; ++i) {
    calls.push_back("model " + std::to_string(i));
    if (i % 2 == 1) through(i - 1 + i);
  }
  for (const int rest : {4, -1, -2}) through(rest);
  expect(flow, calls);
}

TEST_F(FlowTrainingTest, EachSplitsCollectorHasItsOwnSteps) {
  add<Count>("count", 60);
  add<Sum>("pairs", 2, 0);
  add<Sum>("tens", 10, 0);
  compute("model");
  compute("loss");
  adam();
  compute("other");
  const auto note = [this](const Packet& packet) { calls_.note("other_adam", packet); };
  add<CallSink>("other_adam", note, true);
  const std::string flow = "count -> {pairs -> model -> loss -> adam, tens -> other -> other_adam}";
  options_.limits.packets = 4;
  for (const int threads : {1, 2, 8}) {
    EXPECT_FALSE(run(flow, threads).error);
    const std::vector<std::string> calls = calls_.take();
    EXPECT_EQ(calls.size(), 30U * 3 + 6U * 2);
    for (std::size_t at = 0; at < calls.size(); ++at) {
      const std::string value = calls[at].substr(calls[at].find(' '));
      if (calls[at].starts_with("model")) {
        EXPECT_EQ(calls.at(at + 1), "loss" + value);
        EXPECT_EQ(calls.at(at + 2), "adam" + value);
      }
      if (calls[at].starts_with("other ")) {
        EXPECT_EQ(calls.at(at + 1), "other_adam" + value);
      }
    }
  }
}

TEST_F(FlowTrainingTest, AFailureInsideAStepEndsTheFlow) {
  add<Count>("count", 1'000);
  compute("model");
  serial("plain");
  compute("loss", [](Packet& packet, Context&) {
    if (packet.get(number) == 7) throw std::runtime_error("seven");
  });
  adam();
  compute("index");
  const std::string flow = "count -> model -> {plain -> loss -> adam, index}";
  for (const int threads : {1, 8}) {
    const FlowResult result = run(flow, threads);
    ASSERT_TRUE(result.error);
    EXPECT_THAT(result.imbalances, IsEmpty());
    std::vector<std::string> calls = each(7, {"model", "plain", "loss", "adam", "index"});
    for (const char* stage : {"model 7", "plain 7", "loss 7"}) calls.emplace_back(stage);
    EXPECT_THAT(calls_.take(), ElementsAreArray(calls));
  }
}

}  // namespace seam::host::flow_training_test
