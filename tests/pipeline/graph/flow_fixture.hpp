/// Shared parts of tests of whole flows: stages that the test scripts, and a flow that runs them.
#pragma once

#include <gmock/gmock.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/config/flow_text.hpp"
#include "pipeline/graph/flow.hpp"
#include "seam/shard.hpp"
#include "seam/testing.hpp"

namespace seam::host {

inline constexpr Field<std::int64_t> number{"number"};
inline constexpr Field<std::int64_t> square{"square"};
inline constexpr Field<std::int64_t> negated{"negated"};
inline constexpr Field<std::vector<std::int64_t>> members{"members"};

class Count final : public Source {
 public:
  explicit Count(std::int64_t count) : count_(count) {}
  void declare(Declaration& d) override { d.provides(number); }
  void begin(Context& /*context*/) override { next_ = 0; }
  More produce(Emitter& emitter, Context& /*context*/) override {
    if (next_ == count_) return More::no;
    Packet packet(Origin{nullptr, next_, "number " + std::to_string(next_)});
    packet.set(number, next_++);
    emitter.emit(std::move(packet));
    return More::yes;
  }

 private:
  std::int64_t count_;
  std::int64_t next_ = 0;
};

/// Makes packets of 10,000 bytes.
class Heavy final : public Source {
 public:
  static constexpr Field<std::vector<std::uint8_t>> bytes{"bytes"};
  explicit Heavy(std::int64_t count) : count_(count) {}
  void declare(Declaration& d) override {
    d.provides(number);
    d.provides(bytes);
  }
  More produce(Emitter& emitter, Context& /*context*/) override {
    Packet packet;
    packet.set(number, next_++);
    packet.set(bytes, std::vector<std::uint8_t>(10'000));
    emitter.emit(std::move(packet));
    return next_ < count_ ? More::yes : More::no;
  }

 private:
  std::int64_t count_;
  std::int64_t next_ = 0;
};

inline void nothing(Packet& /*packet*/, Context& /*context*/) {}

/// Fields that a test stage sets in addition to `number`.
using Sets = std::vector<Field<std::int64_t>>;

inline void declare_call(Declaration& d, const Sets& sets) {
  d.needs(number);
  d.provides(number);
  for (const Field<std::int64_t>& key : sets) d.provides(key);
}

/// Calls a function of the test for each packet, on several threads.
class ParallelCall final : public ParallelTransform {
 public:
  using Body = std::function<void(Packet&, Context&)>;
  explicit ParallelCall(Body body, Sets sets = {})
      : body_(std::move(body)), sets_(std::move(sets)) {}
  void declare(Declaration& d) override { declare_call(d, sets_); }
  void process(Packet& packet, Context& context) const override { body_(packet, context); }

 private:
  Body body_;
  Sets sets_;
};

template <class Kind>
class Call final : public Kind {
 public:
  using Body = std::function<void(Packet&, Context&)>;
  explicit Call(Body body, bool compute = false, Sets sets = {})
      : body_(std::move(body)), compute_(compute), sets_(std::move(sets)) {}
  void declare(Declaration& d) override { declare_call(d, sets_); }
  void process(Packet& packet, Context& context) override { body_(packet, context); }
  [[nodiscard]] bool on_compute_thread() const override { return compute_; }

 private:
  Body body_;
  bool compute_;
  Sets sets_;
};

/// Sums groups of `size` numbers; emits the rest at the end, and then `extra` more packets, one per
/// call.
class Sum final : public Collector {
 public:
  Sum(std::int64_t size, std::int64_t extra) : size_(size), extra_(extra) {}
  void declare(Declaration& d) override {
    d.needs(number);
    d.provides(number);
    d.replaces_packets();
  }
  void begin(Context& /*context*/) override { taken_ = total_ = extra_made_ = 0; }
  void process(Packet packet, Emitter& emitter, Context& /*context*/) override {
    total_ += packet.get(number);
    if (++taken_ == size_) flush(emitter);
  }
  More end(Emitter& emitter, Context& /*context*/) override {
    if (taken_ > 0) flush(emitter);
    if (extra_made_ == extra_) return More::no;
    Packet packet;
    packet.set(number, -++extra_made_);
    emitter.emit(std::move(packet));
    return More::yes;
  }

 private:
  void flush(Emitter& emitter) {
    Packet packet;
    packet.set(number, std::exchange(total_, 0));
    taken_ = 0;
    emitter.emit(std::move(packet));
  }
  std::int64_t size_;
  std::int64_t extra_;
  std::int64_t taken_ = 0;
  std::int64_t total_ = 0;
  std::int64_t extra_made_ = 0;
};

/// Makes one packet of several numbers.
class Gathering : public Collector {
 public:
  void declare(Declaration& d) override {
    d.needs(number);
    d.provides(number);
    d.provides(members);
    d.replaces_packets();
  }
};

/// Collects `size` numbers each, or if `group` is set, all numbers with the same number / `group`,
/// which ends with the first number of the next group.
class Gather final : public Gathering, public ConsecutiveBatches {
 public:
  explicit Gather(std::size_t size, std::int64_t group = 0) : size_(size), group_(group) {}
  void declare(Declaration& d) override {
    Gathering::declare(d);
    d.offers<ConsecutiveBatches>(*this);
  }
  void begin(Context& /*context*/) override { held_.clear(); }
  void process(Packet packet, Emitter& emitter, Context& /*context*/) override {
    const std::int64_t value = packet.get(number);
    if (group_ > 0 && !held_.empty() && held_.back() / group_ != value / group_) send(emitter);
    if (value == refused) throw Error("not this one");
    held_.push_back(value);
    if (group_ == 0 && held_.size() == size_) send(emitter);
  }
  More end(Emitter& emitter, Context& /*context*/) override {
    if (!held_.empty()) send(emitter);
    return More::no;
  }
  [[nodiscard]] std::uint64_t batch_size() const override { return size_; }
  void begin_part() override {}
  Pause pause(Context& /*context*/) override { return held_.empty() ? Pause::ready : Pause::later; }

  std::int64_t refused = -1'000;

 private:
  void send(Emitter& emitter) {
    Packet packet;
    packet.set(number, held_.front());
    packet.set(members, std::exchange(held_, {}));
    emitter.emit(std::move(packet));
  }
  std::size_t size_;
  std::int64_t group_;
  std::vector<std::int64_t> held_;
};

/// Makes one packet and then waits, as at a socket, until it is interrupted.
class Listen final : public Source {
 public:
  /// `deferring`: interrupt() returns when no call of produce() waits any more.
  explicit Listen(bool deferring) : deferring_(deferring) {}
  void declare(Declaration& d) override { d.provides(number); }
  More produce(Emitter& emitter, Context& /*context*/) override {
    if (!std::exchange(made_, true)) {
      Packet packet;
      packet.set(number, 0);
      emitter.emit(std::move(packet));
      return More::yes;
    }
    std::unique_lock lock(mutex_);
    inside_ = true;
    wake_.wait(lock, [this] { return interrupted_; });
    inside_ = false;
    wake_.notify_all();
    return More::no;
  }
  void interrupt() override {
    std::unique_lock lock(mutex_);
    interrupted_ = true;
    wake_.notify_all();
    if (deferring_) wake_.wait(lock, [this] { return !inside_; });
  }

 private:
  bool deferring_;
  bool made_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool interrupted_ = false;
  bool inside_ = false;
};

class Keep final : public Sink {
 public:
  explicit Keep(std::vector<Packet>& kept, int* ends = nullptr) : kept_(kept), ends_(ends) {}
  void declare(Declaration& d) override { d.needs(number); }
  void process(const Packet& packet, Context& /*context*/) override { kept_.push_back(packet); }
  void end(Context& /*context*/) override {
    if (ends_ != nullptr) ++*ends_;
  }

 private:
  std::vector<Packet>& kept_;
  int* ends_;
};

/// Calls a function of the test for each packet; on the compute thread, like an optimizer, if it
/// trains.
class CallSink final : public Sink {
 public:
  using Body = std::function<void(const Packet&)>;
  explicit CallSink(Body body, bool trains = false) : body_(std::move(body)), trains_(trains) {}
  void declare(Declaration& d) override {
    d.needs(number);
    if (trains_) d.trains();
  }
  void process(const Packet& packet, Context& /*context*/) override { body_(packet); }
  [[nodiscard]] bool on_compute_thread() const override { return trains_; }

 private:
  Body body_;
  bool trains_;
};

class FlowTest : public ::testing::Test {
 protected:
  template <class S, class... Arguments>
  void add(const std::string& name, Arguments&&... arguments) {
    stages_[name] = std::make_unique<StageRunner>(
        name, "test", std::make_unique<S>(std::forward<Arguments>(arguments)...));
  }
  /// The flow of a text such as "count -> {square, negate} -> keep".
  static FlowSpec flow_of(const std::string& text) {
    FlowSpec flow;
    flow.name = "test";
    const FlowText parsed = parse_flow(text);
    EXPECT_TRUE(parsed.faults.empty()) << text;
    for (const FlowStep& step : parsed.steps) {
      flow.nodes.push_back({step.stage, step.inputs, {}});
    }
    return flow;
  }
  FlowResult run_flow(const FlowSpec& flow, int threads = 4) {
    options_.run.services = &services_;
    options_.run.flow = flow.name;
    FlowEngine engine(threads);
    return engine.run(flow, stages_, options_);
  }
  FlowResult run(const std::string& flow, int threads = 4) {
    return run_flow(flow_of(flow), threads);
  }
  /// The result of a flow that must succeed and whose ledger must balance.
  FlowResult run_well(const std::string& flow, int threads = 4) {
    FlowResult result = run(flow, threads);
    EXPECT_FALSE(result.error) << result.error->full_message();
    EXPECT_THAT(result.imbalances, ::testing::IsEmpty());
    return result;
  }
  /// The error of a flow that must fail, with a ledger that balances.
  std::string failure_of(const std::string& flow, int threads = 4) {
    const FlowResult result = run(flow, threads);
    EXPECT_TRUE(result.error);
    EXPECT_THAT(result.imbalances, ::testing::IsEmpty());
    return result.error ? result.error->full_message() : "no error";
  }
  static std::vector<std::int64_t> numbers(const std::vector<Packet>& packets) {
    std::vector<std::int64_t> result;
    for (const Packet& packet : packets) result.push_back(packet.get(number));
    return result;
  }
  static std::vector<std::int64_t> up_to(std::int64_t count) {
    std::vector<std::int64_t> result(static_cast<std::size_t>(count));
    std::iota(result.begin(), result.end(), 0);
    return result;
  }

  seam::testing::RecordingServices services_;
  std::map<std::string, std::unique_ptr<StageRunner>> stages_;
  FlowOptions options_;
  std::vector<Packet> kept_;
  int ends_ = 0;
};

}  // namespace seam::host
