/// Dynamic routing by weights of each input capsule's own, forward and backward, at the sizes of
/// the first capsule network and of the Siamese one: predictions made once (own_routing.hpp)
/// against LibTorch's operations with automatic gradients, in turns in one process; then each alone
/// in a child process for its peak memory. What PyTorch and torch.compile do is in
/// peers/own_routing.py, with the same numbers.
///
///     own_routing_bench [--turns 5] [--threads 2] [--network capsnet|scn]
#include <sys/resource.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "stages/nn/routing.hpp"

namespace {

using torch::Tensor;

struct Network {
  const char* name;
  std::int64_t batch, inputs, input_size, classes, size, iterations;
};
constexpr std::array networks{Network{"capsnet", 128, 1152, 8, 10, 16, 3},
                              Network{"scn", 20, 4608, 8, 20, 16, 4}};

enum class Way : std::uint8_t { once, operations };

struct Problem {
  Network network;
  Tensor u, weight;

  explicit Problem(const Network& which)
      : network(which),
        u(seam::nn::squash(torch::randn({which.batch, which.inputs, which.input_size}))
              .requires_grad_(true)),
        weight(torch::empty({which.inputs, which.input_size, which.classes * which.size})
                   .uniform_(-0.2, 0.2)
                   .requires_grad_(true)) {}

  /// The loss |v|², with gradients of u and weight.
  double loss_of(Way way) {
    seam::nn::RoutingOptions options;
    options.logits = seam::nn::Logits::accumulate;
    options.iterations = network.iterations;
    const Tensor v = way == Way::once ? seam::nn::route(u, weight, network.classes, options)
                                      : seam::nn::route_plain(u, weight, network.classes, options);
    const Tensor loss = v.square().sum();
    loss.backward();
    return loss.item<double>();
  }

  void run(Way way) {
    loss_of(way);
    u.mutable_grad() = Tensor();
    weight.mutable_grad() = Tensor();
  }
};

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// In a process of its own, which has to be started anew: OpenMP does not survive a fork.
double memory_in_child(const char* program, const Network& network, const char* way) {
  const std::string command =
      std::string("'") + program + "' --network " + network.name + " --memory " + way;
  std::FILE* const pipe = popen(command.c_str(), "r");
  double result = 0;
  if (pipe == nullptr || std::fscanf(pipe, "%lf", &result) != 1) result = -1;
  if (pipe != nullptr) pclose(pipe);
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const char* program, const Network& network, int turns) {
  Problem problem(network);
  const auto milliseconds = [&](Way way) {
    const auto start = std::chrono::steady_clock::now();
    problem.run(way);
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    return taken.count() / static_cast<double>(network.batch);
  };
  milliseconds(Way::once);
  milliseconds(Way::operations);
  std::vector<double> once;
  std::vector<double> operations;
  for (int turn = 0; turn < turns; ++turn) {
    once.push_back(milliseconds(Way::once));
    operations.push_back(milliseconds(Way::operations));
    std::printf("%s, turn %d: once %.3f, operations %.3f ms an image\n", network.name, turn,
                once.back(), operations.back());
  }
  const double loss = problem.loss_of(Way::once);
  const double predictions =
      static_cast<double>(network.batch * network.inputs * network.classes * network.size) * 4 /
      (1 << 20);
  const double once_memory = memory_in_child(program, network, "once");
  const double operations_memory = memory_in_child(program, network, "operations");
  std::printf(
      "%s: predictions %.0f MiB; peak memory above the inputs: once %.0f, operations %.0f\n",
      network.name, predictions, once_memory, operations_memory);
  std::printf(
      "own_routing network=%s ratio=%.2f once_ms=%.3f operations_ms=%.3f memory_ratio=%.2f "
      "loss=%.6g of_u=%.6g of_weight=%.6g\n",
      network.name, median(operations) / median(once), median(once), median(operations),
      operations_memory / once_memory, loss, problem.u.grad().norm().item<double>(),
      problem.weight.grad().norm().item<double>());
}

}  // namespace

int main(int count, char** arguments) {
  int turns = 5;
  std::string memory;
  std::string only;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = arguments[i];
    const char* const value = arguments[i + 1];
    if (name == "--turns") turns = std::atoi(value);
    if (name == "--threads") at::set_num_threads(std::atoi(value));
    if (name == "--memory") memory = value;
    if (name == "--network") only = value;
  }
  torch::manual_seed(0);
  for (const Network& network : networks) {
    if (!only.empty() && only != network.name) continue;
    if (memory.empty()) {
      compare(arguments[0], network, turns);
      continue;
    }
    Problem problem(network);
    const double before = peak_mebibytes();
    problem.run(memory == "once" ? Way::once : Way::operations);
    std::printf("%.1f\n", peak_mebibytes() - before);
  }
}
