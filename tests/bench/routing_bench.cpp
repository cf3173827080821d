/// Dynamic routing, forward and backward, at the sizes of several networks:
///
///     fashioncaps            8,192 capsules of size 16 share one matrix to 23 classes (Kınlı 2019)
///     capsnet, scn           separate weights per capsule (Sabour et al. 2017; O'Neill 2018)
///     capsule_module         384 capsules of size 16, pieces of descriptors, with separate weights
///                            to 12 classes of size 16 (Durmuş et al. 2023, model.capsule_module)
///     capsule_module_shared  the same capsules with one matrix for all
///
/// Compares Seam's routing (routing.hpp: factored by kernels for shared weights; own_routing.hpp
/// for separate weights) with the direct form in LibTorch's operations, with every prediction in
/// memory and automatic gradients through all iterations, and, for shared weights, with the
/// factored form in these operations. They take turns in one process; then each runs in a separate
/// process to measure its peak memory. peers/routing.py does the same with PyTorch and
/// torch.compile, with the same numbers.
///
///     routing_bench [--network fashioncaps] [--batch 0] [--turns 5] [--threads 2]
#include <ATen/Parallel.h>
#include <torch/types.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "stages/nn/routing.hpp"
#include "tests/bench/measuring.hpp"
#include "tests/bench/torch_threads.hpp"
#include "tests/stages/nn/routing_reference.hpp"

namespace {

using seam::bench::Clock;
using seam::bench::median;
using seam::bench::peak_mebibytes;
using seam::nn::Logits;
using torch::Tensor;

enum class Weights : std::uint8_t { own, shared };

/// The capsules before routing.
enum class Input : std::uint8_t {
  squashed,     ///< with small weights
  descriptors,  ///< three, each of unit length, in pieces; weights have standard deviation 1
};

struct Network {
  const char* name;
  std::int64_t batch, inputs, input_size, classes, size, iterations;
  Weights weights;
  Logits logits;
  Input input;
  double largest_weight;
};
constexpr std::array networks{
    Network{"fashioncaps", 32, 8192, 16, 23, 16, 3, Weights::shared, Logits::replace,
            Input::squashed, 0.125},
    Network{"capsnet", 128, 1152, 8, 10, 16, 3, Weights::own, Logits::accumulate, Input::squashed,
            0.2},
    Network{"scn", 20, 4608, 8, 20, 16, 4, Weights::own, Logits::accumulate, Input::squashed, 0.2},
    Network{"capsule_module", 32, 384, 16, 12, 16, 3, Weights::own, Logits::accumulate,
            Input::descriptors, 0},
    Network{"capsule_module_shared", 32, 384, 16, 12, 16, 3, Weights::shared, Logits::accumulate,
            Input::descriptors, 0}};

Network network_called(const std::string& name) {
  for (const Network& network : networks) {
    if (name == network.name) return network;
  }
  std::string message = "unknown --network " + name + "; known:";
  for (const Network& network : networks) message.append(" ").append(network.name);
  throw std::invalid_argument(message);
}

enum class Way : std::uint8_t { seam, direct, operations };

const char* name_of(Way way) {
  return way == Way::seam ? "seam" : way == Way::direct ? "direct" : "operations";
}

std::vector<Way> ways_of(const Network& network) {
  if (network.weights == Weights::own) return {Way::seam, Way::direct};
  return {Way::seam, Way::direct, Way::operations};
}

struct Problem {
  Network network;
  Tensor u, weight;

  explicit Problem(const Network& which) : network(which) {
    u = drawn_capsules().requires_grad_(true);
    std::vector<std::int64_t> shape{network.input_size, network.classes * network.size};
    if (network.weights == Weights::own) shape.insert(shape.begin(), network.inputs);
    weight = network.input == Input::squashed
                 ? torch::empty(shape).uniform_(-network.largest_weight, network.largest_weight)
                 : torch::randn(shape);
    weight.requires_grad_(true);
  }

  /// The loss |v|², with gradients of u and weight.
  double loss_of(Way way) {
    seam::nn::RoutingOptions options;
    options.logits = network.logits;
    options.iterations = network.iterations;
    const bool by_predictions = way == Way::direct && network.weights == Weights::shared;
    const auto routing = way == Way::seam ? seam::nn::route
                         : by_predictions ? seam::test::route_by_predictions
                                          : seam::nn::route_plain;
    const Tensor v = routing(u, weight, network.classes, options);
    const Tensor loss = v.square().sum();
    loss.backward();
    return loss.item<double>();
  }

  void run(Way way) {
    loss_of(way);
    u.mutable_grad() = Tensor();
    weight.mutable_grad() = Tensor();
  }

 private:
  [[nodiscard]] Tensor drawn_capsules() const {
    if (network.input == Input::squashed) {
      return seam::nn::squash(torch::randn({network.batch, network.inputs, network.input_size}));
    }
    const Tensor descriptors =
        torch::randn({network.batch, 3, network.inputs * network.input_size / 3});
    return (descriptors / descriptors.norm(2, 2, /*keepdim=*/true))
        .view({network.batch, network.inputs, network.input_size});
  }
};

void compare(const char* program, const Network& network, std::int64_t turns) {
  Problem problem(network);
  const auto milliseconds = [&](Way way) {
    Clock clock;
    problem.run(way);
    return clock.lap() / static_cast<double>(network.batch);
  };
  const std::vector<Way> ways = ways_of(network);
  for (const Way way : ways) milliseconds(way);
  std::map<Way, std::vector<double>> taken;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    std::printf("%s, turn %d:", network.name, static_cast<int>(turn));
    for (const Way way : ways) {
      std::vector<double> several{milliseconds(way)};
      // Seam's own time is short, so the median of several is taken.
      while (way == Way::seam && several.size() < 5) several.push_back(milliseconds(way));
      taken[way].push_back(median(several));
      std::printf(" %s %.3f", name_of(way), taken[way].back());
    }
    std::printf(" ms per image\n");
  }
  std::map<Way, double> memory;
  for (const Way way : ways) {
    memory[way] = seam::bench::number_from(
        program, std::string("--network ") + network.name + " --batch " +
                     std::to_string(network.batch) + " --threads " +
                     std::to_string(at::get_num_threads()) + " --memory " + name_of(way));
  }
  const double loss = problem.loss_of(Way::seam);
  const double seam_ms = median(taken[Way::seam]);
  std::printf(
      "routing network=%s ratio=%.2f seam_ms=%.3f direct_ms=%.3f memory_ratio=%.2f seam_mib=%.1f "
      "direct_mib=%.1f",
      network.name, median(taken[Way::direct]) / seam_ms, seam_ms, median(taken[Way::direct]),
      memory[Way::direct] / memory[Way::seam], memory[Way::seam], memory[Way::direct]);
  if (taken.contains(Way::operations)) {
    std::printf(" operations_ms=%.3f operations_mib=%.1f", median(taken[Way::operations]),
                memory[Way::operations]);
  }
  std::printf(" loss=%.6g of_u=%.6g of_weight=%.6g\n", loss, problem.u.grad().norm().item<double>(),
              problem.weight.grad().norm().item<double>());
}

/// Prints the peak memory of one pass minus that of its inputs.
void show_memory(const Network& network, const std::string& way) {
  for (const Way known : ways_of(network)) {
    if (way != name_of(known)) continue;
    Network one_image = network;
    one_image.batch = 1;
    Problem(one_image).run(known);  // threads and libraries allocate memory the first time
    Problem problem(network);
    seam::bench::forget_peak();
    const double before = peak_mebibytes();
    problem.run(known);
    std::printf("%.1f\n", peak_mebibytes() - before);
    return;
  }
  throw std::invalid_argument("unknown --memory " + way);
}

void measure(int count, char** arguments) {
  const seam::bench::Options options(count, arguments,
                                     {{"--network", "fashioncaps"},
                                      {"--batch", "0"},
                                      {"--turns", "5"},
                                      {"--threads", "0"},
                                      {"--memory", ""}});
  seam::bench::use_threads(options);
  Network network = network_called(options.text("--network"));
  if (options.number("--batch") > 0) network.batch = options.number("--batch");
  torch::manual_seed(0);
  if (!options.text("--memory").empty()) {
    show_memory(network, options.text("--memory"));
  } else {
    compare(arguments[0], network, options.number("--turns"));
  }
}

}  // namespace

int main(int count, char** arguments) {
  return seam::bench::run(&measure, count, arguments);
}
