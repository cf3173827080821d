/// Measures mining at the size of In-Shop's training set: 25,882 random embeddings of 368 numbers,
/// of 3,997 items in 23 categories. Beside it what one writes with LibTorch alone: distances of a
/// tile of anchors to all images by a matrix product, those of the own category filled, the
/// smallest.
///
/// The last line is "mining ratio=R ...": LibTorch's seconds in those of hardest_other_category.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "stages/sampling/mining.hpp"

namespace {

using seam::stages::MiningRule;
using seam::stages::MiningSet;
using seam::stages::Negatives;

constexpr std::int64_t images = 25'882;
constexpr std::int64_t dimensions = 368;
constexpr std::int64_t items = 3'997;
constexpr std::int64_t categories = 23;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count();
}

void mine_by_libtorch(const torch::Tensor& vectors, const torch::Tensor& category) {
  constexpr std::int64_t tile = 1024;
  const torch::Tensor norms = vectors.square().sum(1);
  std::vector<torch::Tensor> negatives;
  for (std::int64_t first = 0; first < images; first += tile) {
    const std::int64_t count = std::min(tile, images - first);
    torch::Tensor distances = norms - 2 * torch::mm(vectors.narrow(0, first, count), vectors.t());
    distances.masked_fill_(category.narrow(0, first, count).unsqueeze(1) == category,
                           std::numeric_limits<float>::infinity());
    negatives.push_back(distances.argmin(1));
  }
}

void measure() {
  torch::manual_seed(0);
  const torch::Tensor vectors = torch::randn({images, dimensions});
  std::vector<std::int64_t> item;
  std::vector<std::int64_t> category;
  std::vector<std::int64_t> positive;
  for (std::int64_t row = 0; row < images; ++row) {
    item.push_back(row % items);
    category.push_back(row % items % categories);
    positive.push_back(row + items < images ? row + items : row % items);
  }
  const MiningSet set{vectors, item, category,
                      [](std::int64_t row) { return std::to_string(row); }};
  const torch::Tensor labels = torch::tensor(category, torch::kInt64);
  const double peer = seconds_of([&] { mine_by_libtorch(vectors, labels); });
  double first = 0;
  for (const MiningRule& rule :
       {MiningRule{Negatives::hardest_other_category, 0},
        MiningRule{Negatives::hardest_same_category, 0}, MiningRule{Negatives::semi_hard, 2}}) {
    double distance = 0;
    const double taken = seconds_of([&] { distance = mine(set, rule, positive).mean_distance; });
    if (first == 0) first = taken;
    const std::string name(to_string(rule.negatives));
    std::printf("%s: %.2f s, mean distance %.3f\n", name.c_str(), taken, distance);
  }
  std::printf("mining ratio=%.2f seam_seconds=%.2f libtorch_seconds=%.2f threads=%d\n",
              peer / first, first, peer, at::get_num_threads());
}

}  // namespace

int main() {
  try {
    measure();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
