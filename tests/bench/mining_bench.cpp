/// Measures mining at the size of In-Shop's training set: 25,882 random embeddings of size 368, of
/// 3,997 items in 23 categories of equal size. Compared with a direct implementation in LibTorch:
/// distances of a tile of anchors to all images by a matrix product, those of the anchor's category
/// masked, then the minimum.
///
/// Peak memory is that of the process, including embeddings and libraries, before LibTorch's turn.
/// The last line is "mining ratio=R ...": LibTorch's seconds divided by those of
/// hardest_other_category.
#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "stages/sampling/mining.hpp"
#include "tests/bench/measuring.hpp"

namespace {

using seam::bench::Clock;
using seam::bench::peak_mebibytes;
using seam::stages::MiningRule;
using seam::stages::MiningSet;
using seam::stages::NegativeSource;

constexpr std::int64_t dimensions = 368;

/// Labels of each image.
struct Labels {
  std::vector<std::int64_t> item;
  std::vector<std::int64_t> category;
  std::vector<std::int64_t> positive;  ///< the next image of its item
};

/// Rows of one item are as far apart as there are items.
Labels regular_labels() {
  constexpr std::int64_t images = 25'882;
  constexpr std::int64_t items = 3'997;
  constexpr std::int64_t categories = 23;
  Labels labels;
  for (std::int64_t row = 0; row < images; ++row) {
    labels.item.push_back(row % items);
    labels.category.push_back(row % items % categories);
    labels.positive.push_back(row + items < images ? row + items : row % items);
  }
  return labels;
}

void mine_by_libtorch(const torch::Tensor& vectors, const torch::Tensor& category) {
  constexpr std::int64_t tile = 1024;
  const std::int64_t images = vectors.size(0);
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

void measure(int /*count*/, char** /*arguments*/) {
  const Labels labels = regular_labels();
  torch::manual_seed(0);
  const auto images = static_cast<std::int64_t>(labels.item.size());
  const torch::Tensor vectors = torch::randn({images, dimensions});
  const double before = peak_mebibytes();
  Clock clock;
  std::printf("%lld images of 3,997 items in 23 categories of one size\n",
              static_cast<long long>(images));
  const MiningSet set{vectors, labels.item, labels.category,
                      [](std::int64_t row) { return std::to_string(row); }};
  double first = 0;
  for (const MiningRule& rule : {MiningRule{NegativeSource::hardest_other_category, 0},
                                 MiningRule{NegativeSource::hardest_same_category, 0},
                                 MiningRule{NegativeSource::semi_hard, 2}}) {
    clock.lap();
    const double distance = mine(set, rule, labels.positive).mean_distance;
    const double taken = clock.lap() / 1000;
    if (first == 0) first = taken;
    const std::string name(to_string(rule.negatives));
    std::printf("%s: %.2f s, mean distance %.3f\n", name.c_str(), taken, distance);
  }
  std::printf("peak memory: %.0f MiB, %.0f MiB above that of the embeddings\n", peak_mebibytes(),
              peak_mebibytes() - before);
  const torch::Tensor category = torch::tensor(labels.category, torch::kInt64);
  clock.lap();
  mine_by_libtorch(vectors, category);
  const double peer = clock.lap() / 1000;
  std::printf("mining ratio=%.2f seam_seconds=%.2f libtorch_seconds=%.2f threads=%d\n",
              peer / first, first, peer, at::get_num_threads());
}

}  // namespace

int main(int count, char** arguments) {
  return seam::bench::run(&measure, count, arguments);
}
