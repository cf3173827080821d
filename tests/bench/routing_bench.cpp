/// Dynamic routing of the published network's size, forward and backward: the direct form against
/// the factored one, by kernels and in LibTorch's operations, in turns in one process; then each
/// alone in a child process for its peak memory.
///
///     routing_bench [--batch 32] [--turns 5] [--threads 2]
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "stages/nn/routing.hpp"

namespace {

using seam::nn::RoutingForm;
using torch::Tensor;

constexpr std::int64_t inputs = 8192;
constexpr std::int64_t size = 16;
constexpr std::int64_t classes = 23;

enum class Way : std::uint8_t { direct, kernels, operations };

struct Problem {
  Tensor u, weight;

  explicit Problem(std::int64_t batch)
      : u(seam::nn::squash(torch::randn({batch, inputs, size})).requires_grad_(true)),
        weight(torch::empty({size, classes * size}).uniform_(-0.125, 0.125).requires_grad_(true)) {}

  void run(Way way) {
    seam::nn::RoutingOptions options;
    options.form = way == Way::direct ? RoutingForm::direct : RoutingForm::factored;
    const Tensor v = way == Way::kernels ? seam::nn::route(u, weight, classes, options)
                                         : seam::nn::route_plain(u, weight, classes, options);
    v.square().sum().backward();
    u.mutable_grad() = Tensor();
    weight.mutable_grad() = Tensor();
  }
};

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Peak memory of one pass above that of its inputs.
double memory_of(std::int64_t batch, Way way) {
  Problem problem(batch);
  const double before = peak_mebibytes();
  problem.run(way);
  return peak_mebibytes() - before;
}

/// The same in a process of its own, which has to be started anew: OpenMP does not survive a fork.
double memory_in_child(const char* program, std::int64_t batch, const char* way) {
  const std::string command =
      std::string("'") + program + "' --batch " + std::to_string(batch) + " --memory " + way;
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

}  // namespace

int main(int count, char** arguments) {
  std::int64_t batch = 32;
  int turns = 5;
  std::string memory;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = arguments[i];
    const char* const value = arguments[i + 1];
    if (name == "--batch") batch = std::atoll(value);
    if (name == "--turns") turns = std::atoi(value);
    if (name == "--threads") at::set_num_threads(std::atoi(value));
    if (name == "--memory") memory = value;
  }
  torch::manual_seed(0);
  if (!memory.empty()) {
    const Way way = memory == "direct"    ? Way::direct
                    : memory == "kernels" ? Way::kernels
                                          : Way::operations;
    std::printf("%.1f\n", memory_of(batch, way));
    return 0;
  }
  Problem problem(batch);
  const auto milliseconds = [&](Way way) {
    const auto start = std::chrono::steady_clock::now();
    problem.run(way);
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    return taken.count() / static_cast<double>(batch);
  };
  milliseconds(Way::direct);
  milliseconds(Way::kernels);
  std::vector<double> direct;
  std::vector<double> factored;
  std::vector<double> operations;
  for (int turn = 0; turn < turns; ++turn) {
    direct.push_back(milliseconds(Way::direct));
    std::vector<double> several;  // the factored form is short beside the clock's neighbours
    for (int i = 0; i < 5; ++i) several.push_back(milliseconds(Way::kernels));
    factored.push_back(median(several));
    operations.push_back(milliseconds(Way::operations));
    std::printf("turn %d: direct %.2f, factored %.3f, in tensor operations %.3f ms an image\n",
                turn, direct.back(), factored.back(), operations.back());
  }
  const double direct_memory = memory_in_child(arguments[0], batch, "direct");
  const double factored_memory = memory_in_child(arguments[0], batch, "kernels");
  const double operations_memory = memory_in_child(arguments[0], batch, "operations");
  std::printf(
      "peak memory above the inputs: direct %.0f, factored %.0f, in tensor operations %.0f MiB\n",
      direct_memory, factored_memory, operations_memory);
  std::printf(
      "routing ratio=%.1f direct_ms=%.2f factored_ms=%.3f memory_ratio=%.1f operations_ms=%.3f "
      "operations_memory_ratio=%.1f\n",
      median(direct) / median(factored), median(direct), median(factored),
      direct_memory / factored_memory, median(operations), direct_memory / operations_memory);
}
