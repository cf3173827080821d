/// Measures leave-one-out retrieval at the size of Stanford Online Products' test set: 60,502
/// vectors of size 6,144, and the 1,000 nearest others of each.
///
///     vectors, a batch at a time ─► GalleryIndex ─► search, no query finds itself ─► recall
///
/// This is the work of retrieval.index and retrieval.search in a flow, with the batches of 64
/// images of the pipelines here. Only these are timed; recall is counted between the batches.
///
///     leave_one_out_bench [--images 60502] [--items 11316] [--dimensions 6144] [--k 1000]
///                         [--queries 60502] [--batch 64] [--likeness 0] [--threads 2]
///
/// With fewer queries than images, only the first are searched: the time for all queries is then
/// `index_seconds` plus `search_seconds`, scaled up to all images.
///
/// Vectors are random and of unit length. `likeness`, from 0 to 8, is how many eighths of a vector
/// are its item's; with 0, items are found only by chance. Vectors are computed from whole numbers,
/// so that those of peers/leave_one_out_faiss.py are bit-identical and give the same recall.
#include <ATen/Parallel.h>
#include <torch/types.h>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "pipeline/run/freed_memory.hpp"
#include "stages/retrieval/gallery_index.hpp"
#include "stages/retrieval/recall_at_k.hpp"
#include "tests/bench/measuring.hpp"
#include "tests/bench/torch_threads.hpp"

namespace {

using seam::bench::Clock;
using seam::retrieval::Mask;
using torch::Tensor;

constexpr std::int64_t published_images = 60502;
constexpr std::int64_t published_items = 11316;

enum class Stream : std::uint64_t { image, item };

/// Approximately normal around zero: the sum of the four words of SplitMix64's number `at`.
std::int64_t number(Stream stream, std::int64_t at) {
  std::uint64_t bits = static_cast<std::uint64_t>(at) + (static_cast<std::uint64_t>(stream) << 40);
  bits = (bits + 1) * 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  bits ^= bits >> 31;
  std::int64_t sum = -2 * 0xFFFF;
  for (int shift = 0; shift < 64; shift += 16) {
    sum += static_cast<std::int64_t>((bits >> shift) & 0xFFFF);
  }
  return sum;
}

struct Problem {
  std::int64_t images, items, dimensions, likeness;

  [[nodiscard]] std::int64_t item_of(std::int64_t image) const { return image % items; }

  /// f32[count,dimensions]. Squares add up to less than 2^53, so the length is the same in any
  /// order.
  [[nodiscard]] Tensor vectors(std::int64_t first, std::int64_t count) const {
    Tensor result = torch::empty({count, dimensions});
    auto rows = result.accessor<float, 2>();
    std::vector<double> whole(static_cast<std::size_t>(dimensions));
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t image = first + row;
      double squared = 0;
      for (std::int64_t d = 0; d < dimensions; ++d) {
        const std::int64_t own = number(Stream::image, image * dimensions + d);
        const std::int64_t shared = number(Stream::item, item_of(image) * dimensions + d);
        const auto value = static_cast<double>(own * (8 - likeness) + shared * likeness);
        whole[static_cast<std::size_t>(d)] = value;
        squared += value * value;
      }
      const double length = std::sqrt(squared);
      for (std::int64_t d = 0; d < dimensions; ++d) {
        rows[row][d] = static_cast<float>(whole[static_cast<std::size_t>(d)] / length);
      }
    }
    return result;
  }
};

struct Seconds {
  double index = 0;
  double search = 0;
};

seam::stages::GalleryIndex indexed(const Problem& problem, std::int64_t batch, Seconds& seconds) {
  seam::stages::GalleryIndex index;
  index.expect({Mask::none}, seam::retrieval::Metric::squared_euclidean);
  Clock clock;
  for (std::int64_t first = 0; first < problem.images; first += batch) {
    const std::int64_t count = std::min(batch, problem.images - first);
    seam::stages::GalleryBatch images;
    images.vectors[Mask::none] = problem.vectors(first, count);
    for (std::int64_t image = first; image < first + count; ++image) {
      images.rows.push_back({image, std::to_string(problem.item_of(image)), -1, {}});
    }
    clock.lap();
    index.add(images);
    seconds.index += clock.lap() / 1000;
  }
  clock.lap();
  index.build();
  seconds.index += clock.lap() / 1000;
  return index;
}

/// Hit rates at `ks`; the last is the number of neighbours searched.
std::vector<double> searched(const seam::stages::GalleryIndex& index, const Problem& problem,
                             std::int64_t queries, std::int64_t batch,
                             const std::vector<std::int64_t>& ks, Seconds& seconds) {
  std::vector<std::int64_t> items(static_cast<std::size_t>(problem.images));
  std::vector<std::int64_t> images_of(static_cast<std::size_t>(problem.items));
  for (std::int64_t image = 0; image < problem.images; ++image) {
    items[static_cast<std::size_t>(image)] = problem.item_of(image);
    ++images_of[static_cast<std::size_t>(problem.item_of(image))];
  }
  seam::stages::RecallCounter recall(ks);
  for (std::int64_t first = 0; first < queries; first += batch) {
    const std::int64_t count = std::min(batch, queries - first);
    std::vector<std::int64_t> themselves(static_cast<std::size_t>(count));
    std::iota(themselves.begin(), themselves.end(), first);
    seam::retrieval::SearchRequest request;
    request.mask = Mask::none;
    request.k = ks.back();
    request.excluded_row = themselves;
    request.query_item =
        std::span(items).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    request.gallery_item = items;
    // The queries of a run come from another flow; here they are read from the index.
    const Tensor vectors = index.vectors(Mask::none).narrow(0, first, count);
    Clock clock;
    const seam::retrieval::Neighbours found = index.search(vectors, request);
    seconds.search += clock.lap() / 1000;
    std::vector<std::int64_t> shown;
    shown.reserve(found.rows.size());
    for (const std::int64_t row : found.rows) shown.push_back(problem.item_of(row));
    for (std::size_t query = 0; query < static_cast<std::size_t>(count); ++query) {
      const auto k = static_cast<std::size_t>(found.k);
      seam::stages::RankedQuery ranked;
      ranked.items = std::span(shown).subspan(query * k, k);
      ranked.distances = std::span(found.distances).subspan(query * k, k);
      ranked.tied_beyond = found.tied_beyond[query];
      ranked.tied_beyond_relevant = found.tied_beyond_relevant[query];
      ranked.item = problem.item_of(first + static_cast<std::int64_t>(query));
      ranked.relevant = images_of[static_cast<std::size_t>(ranked.item)] - 1;
      recall.add(ranked);
    }
  }
  return recall.result().recall;
}

void measure(int argc, char** argv) {
  const seam::bench::Options options(argc, argv,
                                     {{"--images", std::to_string(published_images)},
                                      {"--items", "0"},  // 0: as many images per item as published
                                      {"--dimensions", "6144"},
                                      {"--k", "1000"},
                                      {"--queries", "0"},  // 0: all images
                                      {"--batch", "64"},
                                      {"--likeness", "0"},
                                      {"--threads", "0"}});
  seam::bench::use_threads(options);
  Problem problem{options.number("--images"), options.number("--items"),
                  options.number("--dimensions"), options.number("--likeness")};
  if (problem.items == 0) problem.items = problem.images * published_items / published_images;
  const std::int64_t k = options.number("--k");
  const std::int64_t batch = options.number("--batch");
  std::int64_t queries = options.number("--queries");
  if (queries == 0) queries = problem.images;
  if (problem.items < 1 || problem.dimensions < 1 || problem.likeness < 0 || problem.likeness > 8 ||
      k < 1 || k >= problem.images || queries < 1 || queries > problem.images || batch < 1) {
    throw std::invalid_argument(
        "there must be an item, a dimension, a batch of 1, a likeness from 0 to 8, more images "
        "than --k, and no more --queries than images");
  }
  std::vector<std::int64_t> ks;
  for (const std::int64_t published : {1, 10, 100, 1000}) {
    if (published < k) ks.push_back(published);
  }
  ks.push_back(k);

  seam::host::keep_freed_memory();  // as a run does
  const double before = seam::bench::peak_mebibytes();
  Seconds seconds;
  const seam::stages::GalleryIndex index = indexed(problem, batch, seconds);
  const double with_index = seam::bench::peak_mebibytes();
  const std::vector<double> recall = searched(index, problem, queries, batch, ks, seconds);
  std::cout.precision(8);
  std::cout << "leave_one_out seconds=" << seconds.index + seconds.search
            << " index_seconds=" << seconds.index << " search_seconds=" << seconds.search
            << " before_mib=" << before << " index_peak_mib=" << with_index
            << " peak_mib=" << seam::bench::peak_mebibytes() << " images=" << problem.images
            << " queries=" << queries << " items=" << problem.items
            << " dimensions=" << problem.dimensions << " k=" << k << " batch=" << batch
            << " likeness=" << problem.likeness << " threads=" << at::get_num_threads();
  for (std::size_t at = 0; at < ks.size(); ++at) {
    std::cout << " recall_at_" << ks[at] << "=" << recall[at];
  }
  std::cout << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  return seam::bench::run(&measure, argc, argv);
}
