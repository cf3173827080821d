/// Training flows that are interrupted between two steps and resumed: both parts together do the
/// same as an uninterrupted flow, for any number of threads.
#include "pipeline/graph/flow_points.hpp"

#include <algorithm>

#include "tests/pipeline/graph/flow_fixture.hpp"
#include "tests/sdk/echo_ranks.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::flow_points_test {

/// Collects four numbers when it has seven: it always holds some of the next ones, and reports
/// which.
class GatherAhead final : public Gathering {
 public:
  void begin(Context& /*context*/) override { held_.clear(); }
  void process(Packet packet, Emitter& emitter, Context& /*context*/) override {
    held_.push_back(std::move(packet));
    constexpr std::size_t wanted = 7;
    if (held_.size() == wanted) send(emitter);
  }
  More end(Emitter& emitter, Context& /*context*/) override {
    if (!held_.empty()) send(emitter);
    return held_.empty() ? More::no : More::yes;
  }
  Pause pause(Context& context) override {
    if (!held_.empty()) context.holds_from(held_.front().sequence());
    return Pause::ready;
  }

 private:
  void send(Emitter& emitter) {
    constexpr std::size_t size = 4;
    const auto end = held_.begin() + static_cast<std::ptrdiff_t>(std::min(size, held_.size()));
    std::vector<std::int64_t> values;
    for (auto one = held_.begin(); one != end; ++one) values.push_back(one->get(number));
    held_.erase(held_.begin(), end);
    Packet packet;
    packet.set(number, values.front());
    packet.set(members, std::move(values));
    emitter.emit(std::move(packet));
  }
  std::vector<Packet> held_;
};

/// Trains: keeps the numbers of its steps, and can be suspended after every `accumulate`th.
class Learn final : public Sink {
 public:
  Learn(std::vector<std::string>& seen, std::int64_t accumulate, std::optional<Pause> says)
      : seen_(seen), accumulate_(accumulate), says_(says) {}
  void declare(Declaration& d) override {
    d.needs(members);
    d.trains();
    d.keeps_state();
  }
  void begin(Context& /*context*/) override { left_ = 0; }
  void process(const Packet& packet, Context& context) override {
    std::string text = std::to_string(packet.sequence()) + ":";
    for (const std::int64_t member : packet.get(members)) text += " " + std::to_string(member);
    text += " r" + std::to_string(context.random(packet).bits64() % 1000);
    seen_.push_back(std::move(text));
    left_ = (left_ + 1) % accumulate_;
    if (on_step) on_step(seen_.size());
  }
  void end(Context& /*context*/) override { seen_.emplace_back("end"); }
  Pause pause(Context& /*context*/) override {
    return says_.value_or(left_ == 0 ? Pause::ready : Pause::later);
  }
  [[nodiscard]] bool on_compute_thread() const override { return true; }

  std::function<void(std::size_t)> on_step;

 private:
  std::vector<std::string>& seen_;
  std::int64_t accumulate_;
  std::optional<Pause> says_;
  std::int64_t left_ = 0;
};

class KeepAll final : public FlowKeeper {
 public:
  [[nodiscard]] bool wants_point(std::uint64_t steps) override { return steps % every == 0; }
  [[nodiscard]] std::string keep(const FlowPoint& point, const PointStages& stages) override {
    points.push_back(point);
    names = stages;
    return refusal;
  }
  void going_on(const PointStages& stages) override { gone_on = stages.in_step; }
  void cannot_keep(const std::string& why) override { obstacles.push_back(why); }

  std::uint64_t every = 1'000'000;
  std::string refusal;
  std::vector<FlowPoint> points;
  PointStages names;
  std::vector<std::string> obstacles;
  std::vector<std::string> gone_on;
};

class FlowPointsTest : public FlowTest {
 protected:
  FlowPointsTest() {
    options_.keeper = &keeper_;
    options_.stop = &stop_;
    options_.run.seed = 5;
  }

  /// count -> work -> gather -> learn, with 103 numbers; `work` fails on some.
  void make(std::int64_t accumulate = 1, std::int64_t group = 0,
            std::optional<Pause> says = std::nullopt) {
    stages_.clear();
    seen_.clear();
    worked_ = 0;
    add<Count>("count", 103);
    add<ParallelCall>("work", [this](Packet& packet, Context& context) {
      ++worked_;
      const bool first = packet.get(number) % 6 == 0;
      if (!first && context.random(packet).bits64() % 10 == 0) throw Error("some, by their number");
    });
    options_.stage_specs["work"].on_error = OnError::skip;
    add<Gather>("gather", 4, group);
    add<Learn>("learn", seen_, accumulate, says);
  }
  void on_step(std::function<void(std::size_t)> body) {
    static_cast<Learn&>(stages_.at("learn")->stage()).on_step = std::move(body);
  }
  FlowResult run_chain(int threads) { return run("count -> work -> gather -> learn", threads); }

  /// Resumes from the last point kept.
  FlowResult go_on(int threads) {
    stop_.soon = false;
    options_.from = keeper_.points.back();
    keeper_.points.clear();
    worked_ = 0;
    on_step(nullptr);
    FlowResult result = run_chain(threads);
    options_.from = {};
    return result;
  }

  StopState stop_;
  KeepAll keeper_;
  std::vector<std::string> seen_;
  std::atomic<std::int64_t> worked_ = 0;
};

TEST_F(FlowPointsTest, DataThatShrankIsRefused) {
  make();
  options_.from.steps = 30;
  options_.from.inputs = 120;  // there are 103
  const FlowResult result = run_chain(1);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->fault(), Fault::data);
  EXPECT_THAT(result.error->what(),
              HasSubstr("stage 'count' now produces 103 packets, but 120 had been processed"));
}

TEST_F(FlowPointsTest, StoppedAnywhereItGoesOnToTheSame) {
  for (const std::int64_t group : {0, 6}) {
    make(1, group);
    const FlowResult whole = run_chain(1);
    const std::vector<std::string> expected = seen_;
    ASSERT_GT(expected.size(), 15U);
    ASSERT_GT(whole.failures.size(), 3U);
    for (std::size_t step = 1; step < expected.size(); ++step) {
      for (const int threads : {1, 8}) {
        SCOPED_TRACE("group " + std::to_string(group) + ", step " + std::to_string(step) + ", " +
                     std::to_string(threads) + " threads");
        make(1, group);
        on_step([&](std::size_t steps) { stop_.soon = stop_.soon || steps == step; });
        const FlowResult stopped = run_chain(threads);
        EXPECT_THAT(stopped.imbalances, IsEmpty());
        if (!stopped.cancelled) {  // there is no point after the last full batch
          EXPECT_GE(step + 2, expected.size());
          EXPECT_EQ(seen_, expected);
          stop_.soon = false;
          continue;
        }
        ASSERT_EQ(keeper_.points.size(), 1U);
        EXPECT_EQ(keeper_.points[0].steps, step);
        const std::uint64_t inputs = keeper_.points[0].inputs;
        const FlowResult rest = go_on(threads);
        EXPECT_FALSE(rest.cancelled);
        EXPECT_FALSE(rest.error);
        EXPECT_THAT(rest.imbalances, IsEmpty());
        EXPECT_EQ(worked_, 103 - static_cast<std::int64_t>(inputs))
            << "no packet was processed twice";
        EXPECT_EQ(seen_, expected);
        EXPECT_THAT(keeper_.gone_on, ElementsAre("learn"));
        EXPECT_EQ(rest.skipped, whole.skipped);
        EXPECT_EQ(rest.failures, whole.failures);
      }
    }
  }
}

TEST_F(FlowPointsTest, RanksStopAtTheNextPointAfterTheExchangeInWhichTheyAgree) {
  make(2);
  ASSERT_FALSE(run_chain(1).error);
  const std::vector<std::string> expected = seen_;
  seam::testing::EchoRanks ranks;
  options_.run.lanes.ranks = &ranks;
  options_.stop = nullptr;
  make(2);
  on_step([&](std::size_t step) {
    if (step == 2) ranks.ask_to_stop();
    if (step == 5) (void)ranks.all_gather("a batch", "");
  });
  EXPECT_TRUE(run_chain(8).cancelled);
  EXPECT_EQ(seen_.size(), 6U) << "there is no point after 5 steps";
  ASSERT_EQ(keeper_.points.size(), 1U);
  EXPECT_EQ(keeper_.points[0].steps, 6U);
  options_.run.lanes.ranks = nullptr;
  EXPECT_FALSE(go_on(8).cancelled);
  EXPECT_EQ(seen_, expected);
}

// Whether a rank has points may depend on timing, so all of them stop without.
TEST_F(FlowPointsTest, RanksStopAfterTheSameStepIfTheyCannotKeepIt) {
  const auto steps_of = [this](const std::string& flow) {
    seam::testing::EchoRanks ranks;
    options_.run.lanes.ranks = &ranks;
    options_.stop = nullptr;
    on_step([&](std::size_t step) {
      if (step == 4) ranks.ask_to_stop();
      if (step == 4) (void)ranks.all_gather("a batch", "");
    });
    EXPECT_TRUE(run(flow, 8).cancelled) << flow;
    EXPECT_THAT(keeper_.points, IsEmpty()) << flow;
    return seen_.size();
  };
  make(1, 0, Pause::unsupported);
  EXPECT_EQ(steps_of("count -> work -> gather -> learn"), 4U);
  make();
  add<Call<Transform>>("model", nothing, true);
  EXPECT_EQ(steps_of("count -> gather -> {learn, model}"), 4U) << "several branches";
}

TEST_F(FlowPointsTest, RanksThatAgreeToStopInTheLastStepEndTheFlow) {
  make();
  ASSERT_FALSE(run_chain(1).error);
  const std::vector<std::string> expected = seen_;
  seam::testing::EchoRanks ranks;
  options_.run.lanes.ranks = &ranks;
  options_.stop = nullptr;
  make();
  on_step([&](std::size_t step) {
    if (step + 1 < expected.size()) return;  // the last entry is "end"
    ranks.ask_to_stop();
    (void)ranks.all_gather("a batch", "");
  });
  EXPECT_FALSE(run_chain(8).cancelled);
  EXPECT_EQ(seen_, expected);
}

TEST_F(FlowPointsTest, ACollectorThatAlwaysHoldsSomeSaysWhichComeAgain) {
  const auto remake = [this] {
    make();
    stages_.erase("gather");
    add<GatherAhead>("gather");
  };
  remake();
  const FlowResult whole = run_chain(1);
  const std::vector<std::string> expected = seen_;
  ASSERT_GT(expected.size(), 15U);
  for (std::size_t step = 1; step + 2 < expected.size(); ++step) {
    for (const int threads : {1, 8}) {
      SCOPED_TRACE("step " + std::to_string(step) + ", " + std::to_string(threads) + " threads");
      remake();
      on_step([&](std::size_t steps) { stop_.soon = stop_.soon || steps == step; });
      EXPECT_TRUE(run_chain(threads).cancelled);
      ASSERT_EQ(keeper_.points.size(), 1U);
      EXPECT_EQ(keeper_.points[0].steps, step);
      const FlowResult rest = go_on(threads);
      EXPECT_FALSE(rest.error);
      EXPECT_EQ(seen_, expected);
      EXPECT_EQ(rest.skipped, whole.skipped);
      EXPECT_EQ(rest.failures, whole.failures);
    }
  }
}

TEST_F(FlowPointsTest, AStageThatCannotBeLeftIsNamedBeforeWorkIsLost) {
  make(1, 0, Pause::unsupported);
  EXPECT_FALSE(run_chain(2).cancelled);
  EXPECT_THAT(keeper_.obstacles,
              ElementsAre("stage 'learn' (test) cannot be paused within a flow"));
}

TEST_F(FlowPointsTest, APacketThatTheCollectorRefusesAfterItEmittedIsNotLost) {
  const auto refuse = [this] {
    make(1, 6);
    static_cast<Gather&>(stages_.at("gather")->stage()).refused = 30;  // the first of a group
    options_.stage_specs["gather"].on_error = OnError::skip;
  };
  refuse();
  const FlowResult whole = run_chain(1);
  const std::vector<std::string> expected = seen_;
  for (const int threads : {1, 8}) {
    refuse();
    on_step([&](std::size_t steps) { stop_.soon = stop_.soon || steps == 5; });
    EXPECT_TRUE(run_chain(threads).cancelled);
    EXPECT_EQ(keeper_.points.back().inputs, 31U);
    const FlowResult rest = go_on(threads);
    EXPECT_EQ(seen_, expected);
    EXPECT_EQ(rest.failures, whole.failures);
  }
}

TEST_F(FlowPointsTest, WaitsForTheEndOfAnAccumulation) {
  make(3);
  run_chain(1);
  const std::vector<std::string> expected = seen_;
  make(3);
  on_step([&](std::size_t steps) { stop_.soon = stop_.soon || steps == 4; });
  EXPECT_TRUE(run_chain(2).cancelled);
  ASSERT_EQ(keeper_.points.size(), 1U);
  EXPECT_EQ(keeper_.points[0].steps, 6U);
  EXPECT_FALSE(go_on(2).error);
  EXPECT_EQ(seen_, expected);
}

TEST_F(FlowPointsTest, KeepsPointsWhileItGoesOn) {
  make();
  keeper_.every = 5;
  const FlowResult result = run_chain(2);
  EXPECT_FALSE(result.cancelled);
  const std::vector<std::string> expected = seen_;
  ASSERT_EQ(keeper_.points.size(), 4U);  // of some 23 steps
  EXPECT_EQ(keeper_.points[3].steps, 20U);
  EXPECT_THAT(keeper_.names.passed_over, ElementsAre("work", "gather"));
  EXPECT_THAT(keeper_.names.in_step, ElementsAre("learn"));
  const std::vector<FlowPoint> points = keeper_.points;
  for (const FlowPoint& point : points) {
    keeper_.points = {point};
    make();
    seen_.assign(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(point.steps));
    go_on(2);
    EXPECT_EQ(seen_, expected);
  }
}

TEST_F(FlowPointsTest, BeforeItsFirstStepItIsLeftAtItsStart) {
  make();
  stop_.soon = true;
  EXPECT_TRUE(run_chain(2).cancelled);
  ASSERT_EQ(keeper_.points.size(), 1U);
  EXPECT_EQ(keeper_.points[0], FlowPoint());
  EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(FlowPointsTest, AStageThatCannotBeLeftEndsTheFlowAtOnce) {
  make(1, 0, Pause::unsupported);
  on_step([&](std::size_t steps) { stop_.soon = stop_.soon || steps == 4; });
  const FlowResult result = run_chain(2);
  EXPECT_TRUE(result.cancelled);
  EXPECT_THAT(result.imbalances, IsEmpty());
  EXPECT_EQ(seen_.size(), 4U);
  EXPECT_THAT(keeper_.points, IsEmpty());
  EXPECT_THAT(keeper_.obstacles,
              ElementsAre("stage 'learn' (test) cannot be paused within a flow"));
}

TEST_F(FlowPointsTest, APointThatIsRefusedEndsTheFlowAtOnce) {
  make();
  keeper_.refusal = "the test says so";
  on_step([&](std::size_t steps) { stop_.soon = stop_.soon || steps == 4; });
  EXPECT_TRUE(run_chain(2).cancelled);
  EXPECT_EQ(seen_.size(), 4U);
  EXPECT_THAT(keeper_.obstacles, ElementsAre("the test says so"));
}

TEST_F(FlowPointsTest, WhatStandsInTheWayIsNamed) {
  make();
  const auto obstacle = [this](const std::string& flow) {
    keeper_.obstacles.clear();
    run(flow, 1);
    return keeper_.obstacles.empty() ? std::string() : keeper_.obstacles.front();
  };
  add<Call<Transform>>("serial", nothing);
  add<Call<Transform>>("model", nothing, true);
  add<Keep>("keep", kept_);
  add<Gather>("inner", 2, 0);
  EXPECT_THAT(obstacle("count -> serial -> gather -> learn"),
              HasSubstr("'serial' is a serial stage"));
  EXPECT_THAT(obstacle("count -> gather -> serial -> learn"), HasSubstr("'serial' is between"));
  EXPECT_THAT(obstacle("count -> gather -> model -> inner -> learn"),
              HasSubstr("'inner' makes packets inside the training step"));
  EXPECT_THAT(obstacle("count -> work -> {gather -> learn, keep}"),
              HasSubstr("'keep' is a serial stage"));
  EXPECT_THAT(obstacle("count -> gather -> {learn, model}"), HasSubstr("several branches"));
  options_.stage_specs["work"].references = {{"like", "other"}};
  options_.stage_specs["other"].references = {{"like", "learn"}};
  EXPECT_THAT(obstacle("count -> work -> gather -> learn"),
              HasSubstr("'work' refers to a stage of the training step"));
}

TEST_F(FlowPointsTest, ACollectorBeforeTheLastIsRunAgain) {
  const std::string flow = "count -> sums -> work -> gather -> learn";
  make();
  add<Sum>("sums", 2, 7);
  EXPECT_FALSE(run(flow, 1).error);
  const std::vector<std::string> expected = seen_;
  make();
  add<Sum>("sums", 2, 7);
  on_step([&](std::size_t steps) { stop_.soon = stop_.soon || steps == 6; });
  const FlowResult stopped = run(flow, 8);
  ASSERT_TRUE(stopped.cancelled);
  stop_.soon = false;
  options_.from = keeper_.points.back();
  on_step(nullptr);
  const FlowResult rest = run(flow, 8);
  EXPECT_THAT(rest.imbalances, IsEmpty());
  EXPECT_EQ(seen_, expected);
}

TEST_F(FlowPointsTest, APointOfAFlowThatHasNoneIsRefused) {
  make();
  add<Call<Transform>>("serial", nothing);
  options_.from.steps = 3;
  const FlowResult result = run("count -> serial -> gather -> learn");
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->what(), HasSubstr("'serial'"));
}

}  // namespace seam::host::flow_points_test
