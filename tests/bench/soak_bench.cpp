/// Simulates a long run: checks that the host loses no packets and that its memory does not grow.
///
///     source ─► 3 parallel ─► { left, right } ─► join ─► 3 serial ─► sink      ten stages
///                drops, failures that are skipped, and delays at random, everywhere
///
///     soak_bench [--packets 1000000] [--runs 100]      1 to 16 threads in turns
///     soak_bench --slow-sink 1 [--packets 100000]      64 KiB per packet, a slow sink
///
/// Every run must have a ledger that balances and deliver exactly the packets that the first run,
/// with one thread, delivered to its sink; otherwise the program exits with 1. The last line is
/// `soak ratio=R ...`: memory after 32 runs divided by memory after the last; below 1 it has grown.
#include <tbb/global_control.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "tests/bench/measured_flow.hpp"
#include "tests/bench/measuring.hpp"

namespace {

using namespace seam;  // the classes under test
using bench::number;

inline constexpr Field<std::int64_t> left{"left"};
inline constexpr Field<std::int64_t> right{"right"};

void spin(std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

/// One packet in 200 is dropped, one in 200 fails, one in 500 takes 20 microseconds. Returns
/// whether the packet is passed on.
bool trouble(const Packet& packet, Context& context) {
  Random random = context.random(packet);
  const std::uint64_t drawn = random.index(1000);
  if (drawn < 5) context.drop("drawn");
  if (drawn >= 5 && drawn < 10) throw std::runtime_error("drawn to fail");
  if (drawn >= 10 && drawn < 12) spin(std::chrono::microseconds(20));
  return !context.dropped();
}

class Parallel final : public bench::OnNumbers<ParallelTransform> {
 public:
  void process(Packet& packet, Context& context) const override {
    if (trouble(packet, context)) ++packet[number];
  }
};

class Serial final : public bench::OnNumbers<Transform> {
 public:
  void process(Packet& packet, Context& context) override {
    if (trouble(packet, context)) ++packet[number];
  }
};

/// A branch: adds its own field.
class Branch final : public ParallelTransform {
 public:
  explicit Branch(Field<std::int64_t> field) : field_(field) {}
  void declare(Declaration& d) override {
    d.needs(number);
    d.provides(field_);
  }
  void process(Packet& packet, Context& context) const override {
    if (trouble(packet, context)) packet.set(field_, packet.get(number));
  }

 private:
  Field<std::int64_t> field_;
};

struct Arrived {
  std::int64_t packets = 0;
  std::int64_t sum = 0;
  friend bool operator==(const Arrived&, const Arrived&) = default;
};

class Keep final : public Sink {
 public:
  Keep(Arrived& arrived, std::chrono::nanoseconds time) : arrived_(arrived), time_(time) {}
  void declare(Declaration& d) override { d.needs(number); }
  void process(const Packet& packet, Context& /*context*/) override {
    ++arrived_.packets;
    arrived_.sum += packet.get(number);
    if (time_.count() > 0) spin(time_);
  }

 private:
  Arrived& arrived_;  // owned by the run, outlives the stage
  std::chrono::nanoseconds time_;
};

/// Resident memory of this process, in MiB.
double resident() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

host::FlowResult run(bench::MeasuredFlow& flow, int threads) {
  for (const auto& [name, stage] : flow.stages) {
    flow.options.stage_specs[name].on_error = host::OnError::skip;
  }
  host::FlowResult result = flow.run(threads);
  for (const std::string& sentence : result.imbalances) throw Error(sentence);
  return result;
}

Arrived soak(std::int64_t packets, int threads) {
  Arrived arrived;
  bench::MeasuredFlow flow;
  flow.add("count", std::make_unique<bench::Count>(packets), {});
  for (std::size_t i = 0; i < 3; ++i) {
    flow.add("parallel" + std::to_string(i), std::make_unique<Parallel>(), {i});
  }
  flow.add("left", std::make_unique<Branch>(left), {3});
  flow.add("right", std::make_unique<Branch>(right), {3});
  flow.add("joined", std::make_unique<Serial>(), {4, 5});
  flow.add("serial0", std::make_unique<Serial>(), {6});
  flow.add("serial1", std::make_unique<Serial>(), {7});
  flow.add("keep", std::make_unique<Keep>(arrived, std::chrono::nanoseconds(0)), {8});
  run(flow, threads);
  return arrived;
}

void soak_runs(std::int64_t packets, std::int64_t runs) {
  constexpr int most_threads = 16;
  constexpr std::int64_t settled = 2 * most_threads;  // runs until allocators have what they need
  bench::Clock clock;
  std::optional<Arrived> expected;
  double early = 0;
  for (std::int64_t run = 0; run < runs; ++run) {
    const int threads = 1 + static_cast<int>(run % most_threads);
    const Arrived arrived = soak(packets, threads);
    if (!expected) expected = arrived;
    if (!(arrived == *expected)) throw Error("other packets arrived than with one thread");
    if (run < settled) early = resident();
    std::printf("run %lld, %d threads: %lld packets arrived, %.1f MiB\n",
                static_cast<long long>(run) + 1, threads, static_cast<long long>(arrived.packets),
                resident());
    std::fflush(stdout);
  }
  std::printf(
      "soak ratio=%.2f runs=%lld packets=%lld arrived=%lld early_mib=%.1f late_mib=%.1f "
      "seconds=%.0f\n",
      early / resident(), static_cast<long long>(runs), static_cast<long long>(packets),
      static_cast<long long>(expected->packets), early, resident(), clock.lap() / 1000);
}

void slow_sink(std::int64_t packets) {
  constexpr std::size_t bytes = std::size_t{64} << 10;
  const double before = resident();
  Arrived arrived;
  bench::MeasuredFlow flow;
  flow.add("count", std::make_unique<bench::Count>(packets, bytes), {});
  flow.add("parallel", std::make_unique<Parallel>(), {0});
  flow.add("keep", std::make_unique<Keep>(arrived, std::chrono::microseconds(20)), {1});
  flow.options.limits.packets = 256;
  flow.options.limits.bytes = std::int64_t{8} << 20;
  const host::FlowResult result = run(flow, 2);
  const double all = static_cast<double>(packets) * bytes / (1 << 20);
  std::printf(
      "slow_sink ratio=%.1f packets=%lld packets_peak=%llu bytes_peak_mib=%.1f "
      "limit_mib=8.0 resident_growth_mib=%.1f all_mib=%.0f\n",
      all / (resident() - before), static_cast<long long>(packets),
      static_cast<unsigned long long>(result.packets_peak),
      static_cast<double>(result.bytes_peak) / (1 << 20), resident() - before, all);
}

void measure(int count, char** arguments) {
  const bench::Options options(count, arguments,
                               {{"--packets", "1000000"}, {"--runs", "100"}, {"--slow-sink", "0"}});
  if (options.number("--slow-sink") == 0) {
    soak_runs(options.count("--packets"), options.count("--runs"));
  } else {
    slow_sink(options.count("--packets"));
  }
}

}  // namespace

int main(int count, char** arguments) {
  return bench::run(&measure, count, arguments);
}
