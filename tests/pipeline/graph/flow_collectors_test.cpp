/// Flows with collectors: what they number again, hold, forget and drop.
#include "pipeline/graph/flow.hpp"

#include <algorithm>
#include <thread>

#include "tests/pipeline/graph/flow_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::flow_collectors_test {

/// Calls functions of the test for each packet and at the end.
class CallCollector final : public Collector {
 public:
  using Process = std::function<void(Packet, Emitter&)>;
  explicit CallCollector(
      Process process, std::function<void()> end = [] {})
      : process_(std::move(process)), end_(std::move(end)) {}
  void declare(Declaration& d) override { d.needs(number); }
  void process(Packet packet, Emitter& emitter, Context& /*context*/) override {
    process_(std::move(packet), emitter);
  }
  More end(Emitter& /*emitter*/, Context& /*context*/) override {
    end_();
    return More::no;
  }

 private:
  Process process_;
  std::function<void()> end_;
};

/// Emits packets in reverse after the last has arrived, as a shuffle emits them in a different
/// order; each several times, as a sampler does.
class Reverse final : public Collector {
 public:
  explicit Reverse(std::size_t times = 1) : times_(times) {}
  void declare(Declaration& d) override { d.needs(number); }
  void process(Packet packet, Emitter& /*emitter*/, Context& /*context*/) override {
    packets_.insert(packets_.end(), times_, packet);
  }
  More end(Emitter& emitter, Context& /*context*/) override {
    if (packets_.empty()) return More::no;
    emitter.emit(std::move(packets_.back()));
    packets_.pop_back();
    return More::yes;
  }

 private:
  std::size_t times_;
  std::vector<Packet> packets_;
};

TEST_F(FlowTest, CollectorsNumberAnewAndEmitTheRestAtTheEnd) {
  add<Count>("count", 10);
  add<ParallelCall>("no_three", [](Packet& packet, Context& context) {
    if (packet.get(number) == 3) context.drop("three");
  });
  add<Sum>("sum", 4, 0);
  add<Keep>("keep", kept_);
  const FlowResult result = run_well("count -> no_three -> sum -> keep");
  EXPECT_THAT(numbers(kept_), ElementsAre(0 + 1 + 2 + 4, 5 + 6 + 7 + 8, 9));
  EXPECT_EQ(kept_.back().sequence(), 2U);
  EXPECT_EQ(result.stages[2].emitted, 3U);
}

TEST_F(FlowTest, CountsABatchAsThePacketsItHoldsAndASamplersAsOneEach) {
  FlowProgress progress;
  options_.progress = &progress;
  add<Count>("count", 10);
  add<Sum>("sum", 4, 0);
  add<Keep>("keep", kept_);
  run_well("count -> sum -> keep");
  EXPECT_EQ(kept_.size(), 3U);
  EXPECT_EQ(progress.finished, 10U);
  kept_.clear();
  add<Reverse>("twice", 2U);
  run_well("count -> twice -> keep");
  EXPECT_EQ(kept_.size(), 20U);
  EXPECT_EQ(progress.finished, 20U);
}

TEST_F(FlowTest, HoldsTheBoundWhenACollectorEmitsMuchAtItsEnd) {
  options_.limits.packets = 16;
  add<Count>("count", 3);
  add<Sum>("sum", 100, 5'000);
  add<ParallelCall>("parallel", [](Packet&, Context&) { std::this_thread::yield(); });
  add<Keep>("keep", kept_);
  for (const int threads : {1, 4}) {
    kept_.clear();
    const FlowResult result = run_well("count -> sum -> parallel -> keep", threads);
    EXPECT_EQ(kept_.size(), 5'001U);
    EXPECT_LE(result.packets_peak, 17U);
  }
}

TEST_F(FlowTest, ACollectorThatSkipsAPacketLeavesNoGapBehind) {
  add<Count>("count", 100);
  add<CallCollector>("refuses", [](Packet packet, Emitter& emitter) {
    if (packet.get(number) % 10 == 3) throw Error("a three");
    emitter.emit(std::move(packet));
  });
  add<Keep>("keep", kept_);
  options_.stage_specs["refuses"].on_error = OnError::skip;
  const FlowResult result = run_well("count -> refuses -> keep");
  EXPECT_EQ(kept_.size(), 90U);
  ASSERT_EQ(result.failures.size(), 10U);
  EXPECT_THAT(result.failures[3].origin, HasSubstr("number 33"));
}

TEST_F(FlowTest, ACollectorThatFailsAtItsEndLeavesTheLedgerBalanced) {
  add<Count>("count", 5);
  add<CallCollector>(
      "collector", [](const Packet&, Emitter&) {}, [] { throw Error("too few"); });
  const FlowResult result = run("count -> collector");
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->full_message(), HasSubstr("too few"));
  EXPECT_THAT(result.imbalances, IsEmpty());
  EXPECT_EQ(result.stages[1].failed, 0U);
}

/// Loses packets that do not fill a group.
class Forgetful final : public Collector {
 public:
  Forgetful(std::int64_t size, bool tells) : size_(size), tells_(tells) {}
  void declare(Declaration& d) override {
    d.needs(number);
    d.provides(number);
    d.replaces_packets();
  }
  void process(Packet packet, Emitter& emitter, Context& /*context*/) override {
    held_.push_back(std::move(packet));
    if (static_cast<std::int64_t>(held_.size()) < size_) return;
    emitter.emit(std::exchange(held_, {}).front());
  }
  More end(Emitter& emitter, Context& /*context*/) override {
    if (tells_) {
      for (const Packet& packet : held_) emitter.drop(packet, "no full group");
    }
    held_.clear();
    return More::no;
  }

 private:
  std::int64_t size_;
  bool tells_;
  std::vector<Packet> held_;
};

TEST_F(FlowTest, ACollectorThatForgetsPacketsIsFoundWhereThatCanBeKnown) {
  add<Count>("count", 10);
  add<Keep>("keep", kept_);
  add<Forgetful>("forgets", 4, false);
  EXPECT_THAT(
      run("count -> forgets -> keep").imbalances,
      ElementsAre(HasSubstr("'forgets' received 2 packets after the last packet it emitted")));
  add<Forgetful>("forgets", 100, false);
  EXPECT_THAT(run("count -> forgets -> keep").imbalances,
              ElementsAre(HasSubstr("'forgets' received 10 packets, emitted nothing and dropped")));
  EXPECT_THAT(run("count -> forgets").imbalances, IsEmpty()) << "it has no successor";
  add<Forgetful>("tells", 4, true);
  const FlowResult result = run("count -> tells -> keep");
  EXPECT_THAT(result.imbalances, IsEmpty());
  EXPECT_EQ(result.stages[1].dropped.at("no full group"), 2U);
}

TEST_F(FlowTest, PacketsThatTwoBranchesGatherAreFinishedOnce) {
  for (const int threads : {1, 2, 8}) {
    add<Count>("count", 84);
    add<Sum>("sum", 8, 0);
    add<Sum>("other", 5, 0);
    add<Keep>("keep", kept_);
    FlowProgress progress;
    options_.progress = &progress;
    EXPECT_THAT(run("count -> {sum, other -> keep}", threads).imbalances, IsEmpty());
    EXPECT_EQ(progress.finished, 84U);
  }
}

TEST_F(FlowTest, ACollectorThatDropsMoreThanItTookIsFound) {
  add<Count>("count", 5);
  add<CallCollector>("twice", [](const Packet& packet, Emitter& emitter) {
    for (int i = 0; i < 2; ++i) emitter.drop(packet, "unwanted");
  });
  add<Keep>("keep", kept_);
  EXPECT_THAT(run("count -> twice -> keep").imbalances,
              ElementsAre(HasSubstr("'twice' dropped more packets than the 5")));
}

TEST_F(FlowTest, ACollectorThatChoosesSendsOnOrDropsSomethingAndNothingIsBoth) {
  const auto none = [](std::int64_t) { return false; };
  const auto all = [](std::int64_t) { return true; };
  const auto even = [](std::int64_t value) { return value % 2 == 0; };
  const auto odd = [](std::int64_t value) { return value % 2 != 0; };
  const auto imbalances = [&](bool (*sends)(std::int64_t), bool (*drops)(std::int64_t)) {
    add<Count>("count", 84);
    add<CallCollector>("choose", [sends, drops](const Packet& packet, Emitter& emitter) {
      if (sends(packet.get(number))) emitter.emit(packet);
      if (drops(packet.get(number))) emitter.drop(packet, "unwanted");
    });
    add<Keep>("keep", kept_);
    return run("count -> choose -> keep").imbalances;
  };
  EXPECT_THAT(imbalances(none, none),
              ElementsAre(HasSubstr("'choose' received 84 packets, emitted nothing")));
  EXPECT_THAT(imbalances(none, even),
              ElementsAre(HasSubstr("'choose' received 42 packets, emitted nothing")));
  EXPECT_THAT(imbalances(all, odd),
              ElementsAre(HasSubstr("'choose' dropped 42 packets that it also emitted")));
  EXPECT_THAT(imbalances(even, odd), IsEmpty());
  EXPECT_THAT(imbalances(none, all), IsEmpty());
  EXPECT_THAT(imbalances(even, none), IsEmpty()) << "a sampler draws some";
}

TEST_F(FlowTest, LargeBatchesLeaveRoomForPictures) {
  /// Combines four packets into a large one.
  class Combine final : public Collector {
   public:
    void declare(Declaration& d) override {
      d.needs(number);
      d.provides(number);
      d.provides(Heavy::bytes);
      d.replaces_packets();
    }
    void process(Packet packet, Emitter& emitter, Context& /*context*/) override {
      if (packet.get(number) % 4 != 3) return;
      Packet batch;
      batch.set(number, packet.get(number));
      batch.set(Heavy::bytes, std::vector<std::uint8_t>(1'000'000));
      emitter.emit(std::move(batch));
    }
  };
  options_.limits.packets = 64;
  options_.limits.bytes = 3'000'000;
  std::atomic<int> inside = 0;
  int most = 0;
  add<Count>("count", 1'000);
  add<ParallelCall>("enter", [&](Packet&, Context&) { ++inside; });
  add<Call<Transform>>("leave", [&](Packet& packet, Context&) {
    // Until the source has made as many packets as it may; not forever, so that the test can fail.
    for (int i = 0; packet.get(number) == 800 && inside < 32 && i < 20'000'000; ++i) {
      std::this_thread::yield();
    }
    most = std::max(most, inside.load());
    --inside;
  });
  add<Combine>("gather");
  add<Keep>("keep", kept_);
  run_well("count -> enter -> leave -> gather", 2);
  EXPECT_GE(most, 32);
}

TEST_F(FlowTest, ACollectorThatHoldsMoreThanTheLimitIsRefused) {
  options_.limits.bytes = 500'000;
  add<Heavy>("heavy", 100);
  add<Reverse>("reverse");
  add<Keep>("keep", kept_);
  const FlowResult result = run("heavy -> reverse -> keep");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->fault(), Fault::configuration);
  EXPECT_THAT(result.error->what(), HasSubstr("collector 'reverse' holds 0.4"));
  EXPECT_THAT(result.error->what(), HasSubstr("of [limits] allows (0.4768 MiB)"));
  EXPECT_TRUE(kept_.empty());
}

TEST_F(FlowTest, WhatACollectorHoldsTakesRoom) {
  options_.limits.bytes = 1'100'000;
  add<Heavy>("heavy", 100);
  add<Reverse>("reverse");
  add<Keep>("keep", kept_);
  const FlowResult result = run("heavy -> reverse -> keep");
  ASSERT_FALSE(result.error) << result.error->what();
  EXPECT_GE(result.bytes_peak, 1'000'000U);
  EXPECT_LE(result.bytes_peak, 1'200'000U);
  EXPECT_EQ(kept_.size(), 100U);
}

}  // namespace seam::host::flow_collectors_test
