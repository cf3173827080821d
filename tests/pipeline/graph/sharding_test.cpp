/// Flows that are split into shards: put together, the batches of all shards are those of one
/// process, for any number of threads.
#include "pipeline/graph/sharding.hpp"

#include "tests/pipeline/graph/flow_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::sharding_test {

template <class T>
class Write final : public Sink, public WritesParts {
 public:
  Write(const Field<T>& key, std::vector<T>& written) : key_(key), written_(written) {}
  void declare(Declaration& d) override {
    d.needs(key_);
    d.offers<WritesParts>(*this);
  }
  void process(const Packet& packet, Context& /*context*/) override {
    written_.push_back(packet.get(key_));
  }
  void begin_part() override {}
  [[nodiscard]] std::vector<std::filesystem::path> part_files() const override { return {}; }

 private:
  Field<T> key_;
  std::vector<T>& written_;
};

class Measure final : public Sink {
 public:
  void declare(Declaration& d) override { d.headline("loss", Better::lower); }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}
};

class Train final : public Sink {
 public:
  void declare(Declaration& d) override { d.trains(); }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}
};

class Grouped final : public ParallelTransform {
 public:
  void declare(Declaration& d) override { d.provides(field::group); }
  void process(Packet& packet, Context& /*context*/) const override {
    packet.set(field::group, std::int64_t{0});
  }
};

using Batches = std::vector<std::vector<std::int64_t>>;

class ShardingTest : public FlowTest {
 protected:
  ShardingTest() {
    add<Count>("count", 23);
    add<ParallelCall>("draw", [](Packet& packet, Context& context) {
      const auto value = packet.get(number);
      if (value % 7 == 6) return context.drop("a seventh");
      // Its own number and a random one.
      packet.set(number,
                 1000 * value + static_cast<std::int64_t>(context.random(packet).index(1000)));
    });
    add<Gather>("gather", 4);
    add<Write<std::vector<std::int64_t>>>("write", members, batches_);
  }

  Batches batches_of(const std::string& flow, std::optional<Shard> shard, int threads) {
    batches_.clear();
    options_.shard = shard;
    const FlowResult result = run_well(flow, threads);
    emitted_ = result.stages.front().emitted;
    return batches_;
  }

  std::string obstacle(const std::string& flow) {
    options_.shard = Shard{0, 2};
    const FlowResult result = run(flow);
    return result.error ? result.error->full_message() : "none";
  }

  Batches batches_;
  std::uint64_t emitted_ = 0;
};

TEST_F(ShardingTest, ShardsMakeTheBatchesOfOneProcess) {
  add<ParallelCall>("draw", [](Packet& packet, Context& context) {
    packet.set(number, 1000 * packet.get(number) +
                           static_cast<std::int64_t>(context.random(packet).index(1000)));
  });
  const std::string flow = "count -> draw -> gather -> write";
  const Batches whole = batches_of(flow, std::nullopt, 1);
  ASSERT_EQ(whole.size(), 6U);
  for (const std::uint64_t of : {1U, 2U, 3U, 6U, 8U}) {
    for (const int threads : {1, 4}) {
      Batches together(whole.size());
      for (std::uint64_t shard = 0; shard < of; ++shard) {
        const Batches part = batches_of(flow, Shard{shard, of}, threads);
        for (std::size_t at = 0; at < part.size(); ++at) together.at(at * of + shard) = part[at];
      }
      EXPECT_EQ(together, whole) << of << " shards, " << threads << " threads";
    }
  }
}

TEST_F(ShardingTest, EachPacketIsInOneShardWhateverIsDropped) {
  std::map<std::int64_t, int> seen;
  std::uint64_t emitted = 0;
  for (std::uint64_t shard = 0; shard < 3; ++shard) {
    for (const auto& batch : batches_of("count -> draw -> gather -> write", Shard{shard, 3}, 4)) {
      for (const std::int64_t member : batch) ++seen[member];
    }
    emitted += emitted_;
  }
  Batches whole = batches_of("count -> draw -> gather -> write", std::nullopt, 4);
  std::map<std::int64_t, int> expected;
  for (const auto& batch : whole) {
    for (const std::int64_t member : batch) expected[member] = 1;
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(emitted, 23U) << "each source counts the packets of its own shard";
}

TEST_F(ShardingTest, WithoutBatchesNumbersAreTakenInTurn) {
  std::vector<std::int64_t> written;
  add<Write<std::int64_t>>("write", number, written);
  (void)batches_of("count -> write", Shard{2, 8}, 4);
  EXPECT_EQ(written, (std::vector<std::int64_t>{2, 10, 18}));
}

TEST_F(ShardingTest, BranchesOfOneSourceMeetAgain) {
  add<ParallelCall>(
      "negate", [](Packet& packet, Context&) { packet.set(negated, -packet.get(number)); },
      Sets{negated});
  add<ParallelCall>(
      "squared",
      [](Packet& packet, Context&) { packet.set(square, packet.get(number) * packet.get(number)); },
      Sets{square});
  std::vector<std::int64_t> written;
  add<Write<std::int64_t>>("write", square, written);
  (void)batches_of("count -> {negate, squared} -> write", Shard{1, 10}, 4);
  EXPECT_EQ(written, (std::vector<std::int64_t>{1, 121, 441}));
}

TEST_F(ShardingTest, AFlowThatNeedsAllPacketsIsRefusedByName) {
  add<Measure>("measure");
  add<Train>("train");
  add<Keep>("keep", kept_);
  add<Sum>("sum", 3, 0);
  add<Grouped>("grouped");
  add<Gather>("other_size", 5);
  add<Gather>("uneven", 0);
  add<Call<Transform>>("serial", nothing);
  add<Call<Transform>>("model", nothing, true);
  const std::map<std::string, std::string> flows{
      {"count -> measure", "'measure' (test) computes a metric over all packets"},
      {"count -> train", "'train' (test) trains"},
      {"count -> keep", "'keep' (test) needs all packets"},
      {"count -> sum -> gather -> write", "'sum' (test) gathers packets"},
      {"count -> gather -> other_size -> write", "'other_size' (test) gathers packets"},
      {"count -> grouped -> gather -> write", "'gather' (test) gathers packets"},
      {"count -> uneven -> write", "'uneven' (test) gathers packets"},
      {"count -> {gather, other_size} -> write", "'count' (test) leads to batches"},
      {"count -> serial -> gather -> write", "'serial' (test) is a serial stage"},
  };
  for (const auto& [flow, reason] : flows) {
    EXPECT_THAT(obstacle(flow), HasSubstr("flow 'test' cannot be split into shards: " + reason))
        << flow;
  }
  std::vector<std::int64_t> written;
  add<Write<std::int64_t>>("write", number, written);
  EXPECT_EQ(obstacle("count -> model -> write"), "none");
}

}  // namespace seam::host::sharding_test
