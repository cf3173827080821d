/// Measures the cost of passing a packet from one stage to the next, against a bare oneTBB graph
/// with the same number of queueing nodes that pass on a std::shared_ptr: the price of order,
/// ledger, limits and errors.
///
///     source ──► +1 ──► +1 ──► ... ──► +1 ──► sink        a hop: one arrow
///
///     hop_bench [--stages 10] [--packets 200000] [--turns 5] [--threads 2]
///
/// Seam and the bare graph take turns in one process. Prints one line for parallel stages
/// (unlimited concurrency) and then `hop ratio=R seam_ns=... tbb_ns=...` for serial ones: medians
/// over the turns; a ratio above 1 means that Seam takes less time than the bare graph.
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/measured_flow.hpp"
#include "tests/bench/measuring.hpp"

namespace {

using namespace seam;  // the measured classes
using bench::number;

struct Sizes {
  std::int64_t stages, packets, turns;
  int threads;
};

enum class Stages : std::uint8_t { serial, parallel };

class Increment final : public bench::OnNumbers<Transform> {
 public:
  void process(Packet& packet, Context& /*context*/) override { ++packet[number]; }
};

class ParallelIncrement final : public bench::OnNumbers<ParallelTransform> {
 public:
  void process(Packet& packet, Context& /*context*/) const override { ++packet[number]; }
};

class Sum final : public Sink {
 public:
  explicit Sum(std::int64_t& sum) : sum_(sum) {}
  void declare(Declaration& d) override { d.needs(number); }
  void process(const Packet& packet, Context& /*context*/) override { sum_ += packet.get(number); }

 private:
  std::int64_t& sum_;
};

struct Timed {
  double seconds = 0;
  std::int64_t sum = 0;  // sum of all numbers at the end: shows that all arrived
};

Timed run_seam(const Sizes& options, Stages kind) {
  Timed timed;
  bench::MeasuredFlow flow;
  flow.add("count", std::make_unique<bench::Count>(options.packets), {});
  const auto stages = static_cast<std::size_t>(options.stages);
  for (std::size_t i = 0; i < stages; ++i) {
    const std::string name = "increment" + std::to_string(i);
    if (kind == Stages::serial) {
      flow.add(name, std::make_unique<Increment>(), {i});
    } else {
      flow.add(name, std::make_unique<ParallelIncrement>(), {i});
    }
  }
  flow.add("sum", std::make_unique<Sum>(timed.sum), {stages});
  timed.seconds = flow.run(options.threads).seconds;
  return timed;
}

Timed run_tbb(const Sizes& options, Stages kind) {
  using Message = std::shared_ptr<std::int64_t>;
  using Node = tbb::flow::function_node<Message, Message>;
  Timed timed;
  tbb::task_arena arena(options.threads);
  arena.execute([&] {
    tbb::flow::graph graph;
    std::int64_t made = 0;
    tbb::flow::input_node<Message> source(graph, [&](tbb::flow_control& control) {
      if (made == options.packets) {
        control.stop();
        return Message();
      }
      return std::make_shared<std::int64_t>(made++);
    });
    const std::size_t concurrency =
        kind == Stages::serial ? tbb::flow::serial : tbb::flow::unlimited;
    std::vector<std::unique_ptr<Node>> nodes;
    nodes.reserve(static_cast<std::size_t>(options.stages));
    for (std::int64_t i = 0; i < options.stages; ++i) {
      nodes.push_back(std::make_unique<Node>(graph, concurrency, [](Message message) {
        ++*message;
        return message;
      }));
      if (i == 0) {
        tbb::flow::make_edge(source, *nodes.back());
      } else {
        tbb::flow::make_edge(*nodes[static_cast<std::size_t>(i) - 1], *nodes.back());
      }
    }
    tbb::flow::function_node<Message, tbb::flow::continue_msg> sink(
        graph, tbb::flow::serial, [&](const Message& message) {
          timed.sum += *message;
          return tbb::flow::continue_msg();
        });
    tbb::flow::make_edge(*nodes.back(), sink);
    bench::Clock clock;
    source.activate();
    graph.wait_for_all();
    timed.seconds = clock.lap() / 1000;
  });
  return timed;
}

void compare(const Sizes& options, Stages kind) {
  const double hops = static_cast<double>(options.packets * (options.stages + 1));
  const std::int64_t expected =
      options.packets * (options.packets - 1) / 2 + options.packets * options.stages;
  std::vector<double> seam_ns;
  std::vector<double> tbb_ns;
  for (std::int64_t turn = 0; turn <= options.turns; ++turn) {
    const Timed ours = run_seam(options, kind);
    const Timed theirs = run_tbb(options, kind);
    if (ours.sum != expected || theirs.sum != expected) throw Error("not all packets arrived");
    if (turn == 0) continue;  // the first turn creates threads and memory
    seam_ns.push_back(ours.seconds / hops * 1e9);
    tbb_ns.push_back(theirs.seconds / hops * 1e9);
  }
  const double ours = bench::median(seam_ns);
  const double theirs = bench::median(tbb_ns);
  std::printf("%s ratio=%.2f seam_ns=%.0f tbb_ns=%.0f stages=%lld packets=%lld threads=%d\n",
              kind == Stages::serial ? "hop" : "hop_parallel", theirs / ours, ours, theirs,
              static_cast<long long>(options.stages), static_cast<long long>(options.packets),
              options.threads);
}

void measure(int count, char** arguments) {
  const bench::Options words(
      count, arguments,
      {{"--stages", "10"}, {"--packets", "200000"}, {"--turns", "5"}, {"--threads", "2"}});
  const Sizes options{words.count("--stages"), words.count("--packets"), words.count("--turns"),
                      static_cast<int>(words.count("--threads"))};
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(options.threads));
  compare(options, Stages::parallel);
  compare(options, Stages::serial);
}

}  // namespace

int main(int count, char** arguments) {
  return bench::run(&measure, count, arguments);
}
