#include "pipeline/graph/flow.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/pipeline/graph/flow_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::flow_test {

void squared(Packet& packet, Context& /*context*/) {
  packet.set(square, packet.get(number) * packet.get(number));
}

void doubled(Packet& packet, Context& /*context*/) {
  packet[number] = 2 * packet.get(number);
}

/// Sets `negated`, and drops numbers that end in this digit.
auto negating_all_but(std::int64_t last_digit) {
  return [last_digit](Packet& packet, Context& context) {
    if (packet.get(number) % 10 == last_digit) context.drop("of no use");
    packet.set(negated, -packet.get(number));
  };
}

TEST_F(FlowTest, DeliversEveryPacketInOrderBehindParallelStages) {
  for (const int threads : {1, 2, 8}) {
    kept_.clear();
    add<Count>("count", 5'000);
    add<ParallelCall>("spin", [](Packet& packet, Context&) {
      if (packet.get(number) % 7 == 0) std::this_thread::yield();
    });
    add<Keep>("keep", kept_, &ends_);
    run_well("count -> spin -> keep", threads);
    EXPECT_EQ(numbers(kept_), up_to(5'000)) << threads << " threads";
  }
  EXPECT_EQ(ends_, 3);
}

TEST_F(FlowTest, EndsAnEmptyFlowOnce) {
  add<Count>("count", 0);
  add<ParallelCall>("parallel", nothing);
  add<Sum>("sum", 2, 0);
  add<Keep>("keep", kept_, &ends_);
  run_well("count -> parallel -> sum -> keep");
  EXPECT_THAT(kept_, IsEmpty());
  EXPECT_EQ(ends_, 1);
}

TEST_F(FlowTest, AccountsForDropsAndKeepsOrderAroundThem) {
  add<Count>("count", 1'000);
  add<ParallelCall>("odd", [](Packet& packet, Context& context) {
    if (packet.get(number) % 2 == 0) context.drop("even");
  });
  add<Call<Transform>>("third", [](Packet& packet, Context& context) {
    if (packet.get(number) % 3 == 0) context.drop("divisible by three");
  });
  add<Keep>("keep", kept_);
  const FlowResult result = run_well("count -> odd -> third -> keep");
  EXPECT_EQ(result.stages[1].dropped.at("even"), 500U);
  EXPECT_EQ(result.stages[2].received, 500U);
  EXPECT_EQ(result.stages[2].dropped_total() + kept_.size(), 500U);
  const std::vector<std::int64_t> seen = numbers(kept_);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST_F(FlowTest, HoldsTheBoundBeforeASlowSink) {
  options_.limits.packets = 8;
  std::atomic<int> alive = 0;
  int most = 0;
  add<Count>("count", 2'000);
  add<ParallelCall>("enter", [&](Packet&, Context&) { ++alive; });
  add<Call<Transform>>("slow", [&](Packet&, Context&) {
    most = std::max(most, alive.load());
    --alive;
  });
  const FlowResult result = run_well("count -> enter -> slow");
  EXPECT_LE(most, 8);
  EXPECT_LE(result.packets_peak, 8U);
}

TEST_F(FlowTest, HoldsTheBoundInBytesBeforeASlowSink) {
  constexpr int room = 12;  // packets of 10,000 bytes and a little more
  options_.limits.packets = 400;
  options_.limits.bytes = room * 10'500;
  FlowProgress progress;
  options_.progress = &progress;
  std::atomic<int> inside = 0;
  int most = 0;
  add<Heavy>("large", 500);
  add<ParallelCall>("enter", [&](Packet&, Context&) { ++inside; });
  add<Call<Transform>>("leave", [&](Packet& packet, Context&) {
    // Until the source has made as many packets as it may.
    while (packet.get(number) == 250 && inside <= room && !progress.activity()[0].waits_for_room) {
      std::this_thread::yield();
    }
    most = std::max(most, inside.load());
    --inside;
  });
  const FlowResult result = run_well("large -> enter -> leave");
  // One more while the size of the first packets is not known.
  EXPECT_LE(most, room + 1);
  EXPECT_LE(result.bytes_peak, static_cast<std::uint64_t>(options_.limits.bytes + 10'500));
  EXPECT_GE(result.bytes_peak, static_cast<std::uint64_t>((room - 2) * 10'000))
      << "its capacity is used";
}

TEST_F(FlowTest, RunsNeighboursOnTheComputeThreadOnePacketAtATime) {
  std::set<std::thread::id> threads;
  int inside = 0;
  int most_inside = 0;
  add<Count>("count", 200);
  add<ParallelCall>("parallel", nothing);
  add<Call<Transform>>(
      "model",
      [&](Packet&, Context&) {
        threads.insert(std::this_thread::get_id());
        most_inside = std::max(most_inside, ++inside);
      },
      true);
  add<Call<Transform>>(
      "optimizer",
      [&](Packet&, Context&) {
        threads.insert(std::this_thread::get_id());
        --inside;
      },
      true);
  add<Keep>("keep", kept_);
  run_well("count -> parallel -> model -> optimizer -> keep");
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
  EXPECT_EQ(most_inside, 1);
  EXPECT_EQ(numbers(kept_), up_to(200));
}

TEST_F(FlowTest, JoinsBranchesBySequenceNumber) {
  add<Count>("count", 500);
  add<ParallelCall>("square", squared, Sets{square});
  add<Call<Transform>>("negate", negating_all_but(0), false, Sets{negated});
  add<Keep>("keep", kept_);
  run_well("count -> {square, negate} -> keep");
  ASSERT_EQ(kept_.size(), 450U);
  EXPECT_EQ(kept_[0].get(number), 1);
  for (const Packet& packet : kept_) {
    EXPECT_EQ(packet.get(square), packet.get(number) * packet.get(number));
    EXPECT_EQ(packet.get(negated), -packet.get(number));
  }
}

// count -> {same, double -> {d, e}} -> keep, and with the branches the other way round.
TEST_F(FlowTest, AJoinTakesWhatWasChangedBeforeAnInnerFork) {
  add<Count>("count", 200);
  add<ParallelCall>("same", nothing);
  add<ParallelCall>("double", doubled);
  add<Call<Transform>>("d", nothing);
  add<ParallelCall>("e", nothing);
  add<Keep>("keep", kept_);
  for (const bool inner_first : {false, true}) {
    kept_.clear();
    const std::string branches =
        inner_first ? "{double -> {d, e}, same}" : "{same, double -> {d, e}}";
    run_well("count -> " + branches + " -> keep", 8);
    ASSERT_EQ(kept_.size(), 200U);
    for (std::size_t at = 0; at < kept_.size(); ++at) {
      EXPECT_EQ(kept_[at].get(number), 2 * static_cast<std::int64_t>(at));
    }
  }
}

// count -> {same, double} -> {square, negate} -> keep
TEST_F(FlowTest, SeveralStagesBehindTheSameBranchesGetWhatTheseMade) {
  add<Count>("count", 200);
  add<ParallelCall>("same", nothing);
  add<ParallelCall>("double", doubled);
  add<ParallelCall>("square", squared, Sets{square});
  add<Call<Transform>>(
      "negate",
      [](Packet& packet, Context& context) {
        if (packet.get(number) % 10 == 4) context.drop("four");
        packet.set(negated, -packet.get(number));
        packet[number] = 0;
      },
      false, Sets{negated});
  add<Keep>("keep", kept_);
  run_well("count -> {same, double} -> {square, negate} -> keep", 8);
  ASSERT_EQ(kept_.size(), 160U);
  for (const Packet& packet : kept_) {
    EXPECT_EQ(packet.get(negated) * packet.get(negated), packet.get(square));
    EXPECT_EQ(packet.get(negated) % 2, 0);
    EXPECT_EQ(packet.get(number), 0);
  }
}

TEST_F(FlowTest, AFailureNamesStageAndOriginAndEndsTheFlow) {
  add<Count>("count", 100'000);
  add<ParallelCall>("fails", [](Packet& packet, Context&) {
    if (packet.get(number) == 20) throw std::runtime_error("no twenty");
  });
  add<Keep>("keep", kept_);
  EXPECT_THAT(failure_of("count -> fails -> keep"),
              AllOf(HasSubstr("no twenty"), HasSubstr("stage 'fails'"), HasSubstr("number 20")));
  EXPECT_LT(kept_.size(), 100'000U);
}

TEST_F(FlowTest, AccountsForWhatIsDiscardedWhenAFailureEndsTheFlow) {
  for (int round = 0; round < 20; ++round) {
    kept_.clear();
    add<Count>("count", 1'000);
    add<ParallelCall>("fails", [&](Packet& packet, Context&) {
      if (packet.get(number) == 40 * round) throw std::runtime_error("unreadable");
    });
    add<ParallelCall>("square", squared, Sets{square});
    add<Call<Transform>>("negate", negating_all_but(1), false, Sets{negated});
    add<Keep>("keep", kept_);
    const FlowResult result = run("count -> fails -> {square, negate} -> keep", 8);
    ASSERT_TRUE(result.error);
    EXPECT_THAT(result.imbalances, IsEmpty());
    const StageCount& fails = result.stages[1];
    EXPECT_EQ(fails.failed, 1U);
    EXPECT_EQ(fails.received + fails.discarded, result.stages[0].emitted);
  }
}

/// Makes a packet when the one before it has been through, as of a service that answers.
class Converse final : public Source {
 public:
  explicit Converse(const std::atomic<std::int64_t>& answers) : answers_(answers) {}
  void declare(Declaration& d) override { d.provides(number); }
  More produce(Emitter& emitter, Context& /*context*/) override {
    // Not for ever, so that the test can fail.
    for (int i = 0; answers_ < made_ && i < 20'000'000; ++i) std::this_thread::yield();
    if (answers_ < made_) throw Error("no answer to packet " + std::to_string(made_ - 1));
    if (made_ == 20) return More::no;
    Packet packet;
    packet.set(number, made_++);
    emitter.emit(std::move(packet));
    return More::yes;
  }

 private:
  const std::atomic<std::int64_t>& answers_;
  std::int64_t made_ = 0;
};

TEST_F(FlowTest, SourcesThatWaitLeaveTheWorkersToTheStages) {
  for (const bool compute : {false, true}) {
    std::atomic<std::int64_t> answers = 0;
    std::atomic<std::int64_t> other_answers = 0;
    add<Converse>("converse", answers);
    add<Converse>("other", other_answers);
    add<ParallelCall>("look", nothing);
    add<ParallelCall>("look_too", nothing);
    add<Call<Transform>>("model", nothing, compute);
    add<Call<Transform>>("answer", [&](Packet&, Context&) { ++answers; });
    add<Call<Transform>>("answer_too", [&](Packet&, Context&) { ++other_answers; });
    FlowSpec flow;
    flow.name = "test";
    flow.nodes = {{"converse", {}, {}},   {"look", {0}, {}}, {"model", {1}, {}},
                  {"answer", {2}, {}},    {"other", {}, {}}, {"look_too", {4}, {}},
                  {"answer_too", {5}, {}}};
    const FlowResult result = run_flow(flow, 1);
    EXPECT_FALSE(result.error) << result.error->full_message();
    EXPECT_EQ(answers, 20);
    EXPECT_EQ(other_answers, 20);
  }
}

TEST_F(FlowTest, AFailureWakesASourceThatWaits) {
  struct Case {
    bool compute;
    int threads;
    bool deferring;  // an interruption that takes its time holds no stage up
  };
  for (const Case& one :
       {Case{false, 2, false}, Case{true, 2, false}, Case{true, 1, false}, Case{true, 1, true}}) {
    for (int round = 0; round < 50; ++round) {
      add<Listen>("listen", one.deferring);
      add<Call<Transform>>(
          "fails", [](Packet&, Context&) { throw Error("no"); }, one.compute);
      EXPECT_THAT(failure_of("listen -> fails", one.threads), HasSubstr("stage 'fails'"));
    }
  }
}

TEST_F(FlowTest, TooManySkippedPacketsWakeASourceThatWaits) {
  options_.stage_specs["fails"].on_error = OnError::skip;
  options_.max_errors = 0;
  add<Listen>("listen", false);
  add<Call<Transform>>("fails", [](Packet&, Context&) { throw Error("no"); });
  EXPECT_TRUE(run("listen -> fails", 2).error);
}

TEST_F(FlowTest, WhatIsNotAnExceptionDoesNotReachTheGraph) {
  add<Count>("count", 10);
  add<ParallelCall>("throws", [](Packet&, Context&) { throw 42; });
  EXPECT_THAT(failure_of("count -> throws"), HasSubstr("not a std::exception"));
}

TEST_F(FlowTest, SkipsFailuresWhereTheFileSaysSo) {
  options_.stage_specs["fails"].on_error = OnError::skip;
  add<Count>("count", 100);
  add<ParallelCall>("fails", [](Packet& packet, Context&) {
    if (packet.get(number) % 10 == 0) throw std::runtime_error("round number");
  });
  add<Keep>("keep", kept_);
  const FlowResult result = run_well("count -> fails -> keep");
  EXPECT_EQ(kept_.size(), 90U);
  EXPECT_EQ(result.stages[1].failed, 10U);
  EXPECT_EQ(result.failures.size(), 10U);

  options_.max_errors = 5;
  EXPECT_TRUE(run("count -> fails -> keep").error);
}

TEST_F(FlowTest, RetriesWithThePacketAsItWas) {
  options_.stage_specs["shaky"].on_error = OnError::retry;
  options_.stage_specs["shaky"].retries = 2;
  int calls = 0;
  add<Count>("count", 5);
  add<Call<Transform>>("shaky", [&](Packet& packet, Context&) {
    packet[number] += 100;
    if (++calls % 3 != 0) throw std::runtime_error("not yet");
  });
  add<Keep>("keep", kept_);
  run_well("count -> shaky -> keep");
  EXPECT_THAT(numbers(kept_), ElementsAre(100, 101, 102, 103, 104));
}

TEST_F(FlowTest, RetriesASink) {
  int calls = 0;
  options_.stage_specs["shaky"].on_error = OnError::retry;
  options_.stage_specs["shaky"].retries = 1;
  add<Count>("count", 5);
  add<CallSink>("shaky", [&](const Packet& packet) {
    if (++calls % 2 != 0) throw std::runtime_error("not yet");
    kept_.push_back(packet);
  });
  run_well("count -> shaky");
  EXPECT_EQ(numbers(kept_), up_to(5));
}

TEST_F(FlowTest, StopsWhenAskedTo) {
  StopState stop;
  options_.stop = &stop;
  add<Count>("count", 1'000'000'000);
  add<ParallelCall>("parallel", [&](Packet& packet, Context&) {
    if (packet.get(number) == 50) stop.soon = true;
  });
  add<Keep>("keep", kept_, &ends_);
  const FlowResult result = run("count -> parallel -> keep");
  EXPECT_TRUE(result.cancelled);
  EXPECT_FALSE(result.error);
  EXPECT_THAT(result.imbalances, IsEmpty());
  EXPECT_LT(kept_.size(), result.stages.front().emitted) << "packets in flight are discarded";
  EXPECT_EQ(ends_, 0) << "a partial flow has not ended";
}

TEST_F(FlowTest, CancelsWhenAskedTo) {
  StopState stop;
  options_.stop = &stop;
  add<Count>("count", 1'000'000'000);
  add<Call<Transform>>("serial", [&](Packet& packet, Context&) {
    if (packet.get(number) == 50) stop.cancel = true;
  });
  const FlowResult result = run("count -> serial");
  EXPECT_TRUE(result.cancelled);
}

TEST_F(FlowTest, AStageThatBreaksItsPromiseIsNamed) {
  class Liar final : public Transform {
   public:
    void declare(Declaration& d) override { d.provides(square); }
    void process(Packet&, Context&) override {}
  };
  add<Count>("count", 3);
  add<Liar>("liar");
  EXPECT_THAT(failure_of("count -> liar"),
              HasSubstr("stage 'liar' declares that it provides field 'square'"));
}

TEST_F(FlowTest, RunsTheSameStagesInManyFlowsOneAfterTheOther) {
  add<Count>("count", 50);
  add<ParallelCall>("parallel", nothing);
  add<Keep>("keep", kept_);
  options_.run.services = &services_;
  FlowEngine engine(2);
  for (int i = 0; i < 100; ++i) {
    const FlowResult result = engine.run(flow_of("count -> parallel -> keep"), stages_, options_);
    ASSERT_FALSE(result.error);
  }
  EXPECT_EQ(kept_.size(), 5'000U);
}

}  // namespace seam::host::flow_test
