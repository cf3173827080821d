/// Segments without oneTBB, on threads of the test, which ThreadSanitizer can observe completely.
#include "pipeline/graph/segment.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "seam/testing.hpp"

namespace seam::host::segment_test {

inline constexpr Field<std::int64_t> number{"number"};

/// Drops each tenth packet, fails on each eleventh.
class Sieve final : public ParallelTransform {
 public:
  void declare(Declaration& d) override {
    d.needs(number);
    d.provides(number);
  }
  void process(Packet& packet, Context& context) const override {
    const std::int64_t value = packet.get(number);
    if (value % 11 == 3) throw std::runtime_error("each eleventh");
    if (value % 10 == 0) context.drop("each tenth");
    context.metric("seen", 1);
    ++packet[number];
  }
  void end(Context& /*context*/) override { ++ends; }

  int ends = 0;
};

class SegmentTest : public ::testing::Test {
 protected:
  SegmentTest() {
    options_.run.services = &services_;
    options_.stage_specs["sieve"].on_error = OnError::skip;
    auto sieve = std::make_unique<Sieve>();
    sieve_ = sieve.get();
    runner_ = std::make_unique<StageRunner>("sieve", "test.sieve", std::move(sieve));
  }

  [[nodiscard]] Message packet(std::int64_t value) {
    auto envelope = std::make_shared<Envelope>();
    envelope->share = Share(budget_.admit(sizes_, 1), 1);
    envelope->packet.set(number, value);
    return {static_cast<std::uint64_t>(value), Message::Kind::packet, 0, std::move(envelope)};
  }

  testing::RecordingServices services_;
  FlowOptions options_;
  Budget budget_{1'000'000, 1'000'000'000, 1'000'000, [] {}};
  PacketSizes& sizes_ = budget_.add_maker();
  Sieve* sieve_ = nullptr;  // owned by the runner
  std::unique_ptr<StageRunner> runner_;
};

TEST_F(SegmentTest, ItsLedgerBalancesHoweverManyThreadsAreInIt) {
  constexpr std::int64_t packets = 8'000;
  constexpr int threads = 4;
  FlowState state(options_, options_.run, budget_);
  Segment segment(state, Workplace::parallel_workers, {runner_.get()});
  std::mutex mutex;
  std::set<std::uint64_t> sequences;
  int ends = 0;
  segment.add_edge({"next"}, [&](const Message& message) {
    const std::lock_guard lock(mutex);
    if (message.kind == Message::Kind::end) {
      ++ends;
      EXPECT_EQ(sequences.size(), static_cast<std::size_t>(packets)) << "the end comes last";
    } else {
      EXPECT_TRUE(sequences.insert(message.sequence).second);
    }
  });
  std::atomic<std::int64_t> next = 0;
  {
    std::vector<std::jthread> workers;
    for (int thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&] {
        // The end is a message like others: it may overtake packets.
        for (std::int64_t i = next++; i <= packets; i = next++) {
          if (i == packets) {
            segment.accept({static_cast<std::uint64_t>(packets), Message::Kind::end, 0, nullptr});
          } else {
            segment.accept(packet(i));
          }
        }
      });
    }
  }
  const Segment::Counter& counter = segment.counter(0);
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(sieve_->ends, 1);
  EXPECT_EQ(counter.received(), static_cast<std::uint64_t>(packets));
  EXPECT_EQ(counter.delivered() + counter.dropped_total + counter.failed,
            static_cast<std::uint64_t>(packets));
  EXPECT_EQ(counter.failed, 727U) << "numbers below 8,000 that are 3 modulo 11";
  EXPECT_EQ(segment.edges()[0]->packets, counter.delivered());
  EXPECT_EQ(state.failures().size(), 727U);
  EXPECT_FALSE(state.error());
  EXPECT_EQ(budget_.packets(), 0) << "all capacity was released";
}

TEST_F(SegmentTest, AfterAnErrorItDiscardsWhatComes) {
  options_.stage_specs.clear();
  FlowState state(options_, options_.run, budget_);
  Segment segment(state, Workplace::serial_worker, {runner_.get()});
  for (std::int64_t i = 1; i < 6; ++i) {
    Message message = packet(i);
    message.sequence = static_cast<std::uint64_t>(i - 1);
    segment.accept(std::move(message));
  }
  ASSERT_TRUE(state.error());
  EXPECT_EQ(segment.counter(0).received(), 3U) << "1 and 2 pass, 3 fails";
  EXPECT_EQ(budget_.packets(), 0);
}

}  // namespace seam::host::segment_test
