/// Measures exact search at the size of the In-Shop benchmark: 14,218 queries, 12,612 gallery
/// images, 368 dimensions, the 50 nearest. Three cases:
///
///     normal    random normal vectors; what FAISS IndexFlatL2 is timed on
///     masked    one of 23 capsules of each image kept: most pairs at distance exactly 2
///     constant  all vectors equal: every pair ties
///
/// Prints one line a repetition: "search seconds=0.71 case=normal ...".
#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <string>

#include "stages/retrieval/exact_search.hpp"

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

int measure(int argc, char** argv) {
  std::map<std::string, std::string> flags{{"--queries", "14218"},     {"--gallery", "12612"},
                                           {"--dimensions", "368"},    {"--k", "50"},
                                           {"--case", "normal"},       {"--repeat", "3"},
                                           {"--threads", "0"},         {"--query-tile", "256"},
                                           {"--gallery-tile", "1024"}, {"--batch", "0"}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto flag = flags.find(argv[i]);
    if (flag == flags.end()) {
      std::cerr << "unknown flag " << argv[i] << "; known:";
      for (const auto& [known, value] : flags) std::cerr << ' ' << known << ' ' << value;
      std::cerr << '\n';
      return 2;
    }
    flag->second = argv[i + 1];
  }
  const auto number = [&](const std::string& flag) { return std::stoll(flags.at(flag)); };
  if (number("--threads") > 0) at::set_num_threads(static_cast<int>(number("--threads")));

  torch::manual_seed(0);
  const std::string which = flags.at("--case");
  const torch::Tensor gallery = make_vectors(which, number("--gallery"), number("--dimensions"));
  const torch::Tensor queries = make_vectors(which, number("--queries"), number("--dimensions"));
  const auto metric =
      which == "masked" ? seam::stages::Metric::cosine : seam::stages::Metric::squared_euclidean;
  seam::stages::SearchOptions options;
  options.k = number("--k");
  options.query_tile = number("--query-tile");
  options.gallery_tile = number("--gallery-tile");
  // A flow searches a batch at a time; 0 takes all queries at once.
  const std::int64_t batch = number("--batch") > 0 ? number("--batch") : queries.size(0);

  for (std::int64_t repetition = 0; repetition < number("--repeat"); ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    const seam::stages::ExactIndex index(gallery, metric);
    std::int64_t tied = 0;
    std::int64_t sum_of_rows = 0;
    for (const torch::Tensor& part : queries.split(batch)) {
      const seam::stages::Neighbours found = index.search(part, options);
      for (const std::int64_t count : found.tied_beyond) tied += count > 0 ? 1 : 0;
      for (const std::int64_t row : found.rows) sum_of_rows += row;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << "search seconds=" << seconds.count() << " case=" << which
              << " queries=" << queries.size(0) << " gallery=" << gallery.size(0)
              << " dimensions=" << gallery.size(1) << " k=" << options.k
              << " threads=" << at::get_num_threads() << " queries_tied_at_cut=" << tied
              << " checksum=" << sum_of_rows << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return measure(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
