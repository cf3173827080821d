/// Measures mining at the size of In-Shop's training set: 25,882 random embeddings of size 368, of
/// 3,997 items in 23 categories of equal size. Compared with a direct implementation in LibTorch:
/// distances of a tile of anchors to all images by a matrix product, those of the anchor's category
/// masked, then the minimum.
///
///     mining_bench [LIST]    items and categories of the training images of an In-Shop partition
///                            list instead: few large categories, many small ones
///
/// Peak memory is that of the process, including embeddings and libraries, before LibTorch's turn.
/// The last line is "mining ratio=R ...": LibTorch's seconds divided by those of
/// hardest_other_category.
#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <seam/error.hpp>
#include <string>
#include <vector>

#include "stages/dataset/inshop_list.hpp"
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
  std::string text;
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
  labels.text = "3,997 items in 23 categories of one size";
  return labels;
}

Labels labels_of(const std::filesystem::path& list) {
  const auto rows = seam::stages::read_inshop_list(list).of(seam::stages::Split::train);
  if (rows.empty()) throw seam::Error("'" + list.string() + "' has no training images");
  Labels labels;
  std::map<std::string, std::vector<std::int64_t>> images;  // by item
  std::map<std::int64_t, std::int64_t> category_sizes;
  for (const seam::stages::InshopRow& row : rows) {
    images[row.item].push_back(static_cast<std::int64_t>(labels.category.size()));
    labels.category.push_back(row.category);
    ++category_sizes[row.category];
  }
  labels.item.resize(rows.size());
  labels.positive.resize(rows.size());
  std::int64_t item = 0;
  for (const auto& [name, of_item] : images) {
    for (std::size_t at = 0; at < of_item.size(); ++at) {
      const auto row = static_cast<std::size_t>(of_item[at]);
      labels.item[row] = item;
      labels.positive[row] = of_item[(at + 1) % of_item.size()];
    }
    ++item;
  }
  const auto [smallest, largest] = std::ranges::minmax_element(
      category_sizes, {}, [](const auto& category) { return category.second; });
  labels.text = std::to_string(images.size()) + " items in " +
                std::to_string(category_sizes.size()) + " categories of " +
                std::to_string(smallest->second) + " to " + std::to_string(largest->second) +
                " images";
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

void compare(const Labels& labels) {
  torch::manual_seed(0);
  const auto images = static_cast<std::int64_t>(labels.item.size());
  const torch::Tensor vectors = torch::randn({images, dimensions});
  const double before = peak_mebibytes();
  Clock clock;
  std::printf("%lld images of %s\n", static_cast<long long>(images), labels.text.c_str());
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

void measure(int count, char** arguments) {
  if (count > 2) throw seam::Error("mining_bench [LIST]");
  compare(count == 2 ? labels_of(arguments[1]) : regular_labels());
}

}  // namespace

int main(int count, char** arguments) {
  return seam::bench::run(&measure, count, arguments);
}
