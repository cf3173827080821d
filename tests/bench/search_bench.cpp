/// Measures exact search at the size of the In-Shop benchmark: 14,218 queries, 12,612 gallery
/// images, 368 dimensions, the 50 nearest. Three cases:
///
///     normal    random normal vectors; what FAISS IndexFlatL2 is timed on
///     masked    one of 23 capsules of each image kept: most pairs at distance exactly 2
///     constant  all vectors equal: every pair ties
///
/// Prints one line per repetition: "search seconds=0.71 case=normal ...".
#include <ATen/Parallel.h>
#include <torch/nn/functional/normalization.h>
#include <torch/types.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "stages/retrieval/exact_search.hpp"
#include "tests/bench/measuring.hpp"
#include "tests/bench/torch_threads.hpp"

namespace {

constexpr std::int64_t classes = 23;

torch::Tensor make_vectors(const std::string& which, std::int64_t count, std::int64_t dimensions) {
  if (which == "constant") return torch::ones({count, dimensions});
  torch::Tensor vectors = torch::randn({count, dimensions});
  if (which == "masked") {
    vectors = torch::nn::functional::normalize(
        vectors.view({count, classes, -1}), torch::nn::functional::NormalizeFuncOptions().dim(2));
    const torch::Tensor category = torch::randint(classes, {count}, torch::kInt64);
    vectors = vectors * torch::one_hot(category, classes).unsqueeze(2);
    vectors = vectors.reshape({count, dimensions});
  }
  return vectors;
}

void measure(int argc, char** argv) {
  const seam::bench::Options options(argc, argv,
                                     {{"--queries", "14218"},
                                      {"--gallery", "12612"},
                                      {"--dimensions", "368"},
                                      {"--k", "50"},
                                      {"--case", "normal"},
                                      {"--repeat", "3"},
                                      {"--threads", "0"},
                                      {"--batch", "0"}});
  seam::bench::use_threads(options);

  torch::manual_seed(0);
  const std::string which = options.text("--case");
  const torch::Tensor gallery =
      make_vectors(which, options.number("--gallery"), options.number("--dimensions"));
  const torch::Tensor queries =
      make_vectors(which, options.number("--queries"), options.number("--dimensions"));
  const auto metric =
      which == "masked" ? seam::stages::Metric::cosine : seam::stages::Metric::squared_euclidean;
  seam::stages::SearchOptions search;
  search.k = options.number("--k");
  // A flow searches one batch at a time; 0 searches all queries at once.
  const std::int64_t batch =
      options.number("--batch") > 0 ? options.number("--batch") : queries.size(0);

  for (std::int64_t repetition = 0; repetition < options.number("--repeat"); ++repetition) {
    seam::bench::Clock clock;
    const seam::stages::ExactIndex index(gallery, metric);
    std::int64_t tied = 0;
    std::int64_t sum_of_rows = 0;
    for (const torch::Tensor& part : queries.split(batch)) {
      const seam::stages::Neighbours found = index.search(part, search);
      for (const std::int64_t count : found.tied_beyond) tied += count > 0 ? 1 : 0;
      for (const std::int64_t row : found.rows) sum_of_rows += row;
    }
    std::cout << "search seconds=" << clock.lap() / 1000 << " case=" << which
              << " queries=" << queries.size(0) << " gallery=" << gallery.size(0)
              << " dimensions=" << gallery.size(1) << " k=" << search.k
              << " threads=" << at::get_num_threads() << " queries_tied_at_cut=" << tied
              << " checksum=" << sum_of_rows << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return seam::bench::run(&measure, argc, argv);
}
