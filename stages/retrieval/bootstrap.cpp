#include "stages/retrieval/bootstrap.hpp"

#include <algorithm>
#include <cstddef>
#include <seam/random.hpp>

namespace seam::stages {
namespace {

constexpr std::size_t samples = 1000;
constexpr std::size_t cut = 25;  // 2.5 % of the samples at each end

}  // namespace

std::vector<ConfidenceInterval> bootstrap_intervals(std::span<const ItemSums> items) {
  std::vector<const ItemSums*> scored;
  for (const ItemSums& item : items) {
    if (item.queries > 0) scored.push_back(&item);
  }
  if (scored.size() < 2) return {};
  const std::size_t metrics = scored.front()->sums.size();
  std::vector<std::vector<double>> means(metrics);
  std::vector<double> sums(metrics);
  Random random(0, stream_of("bootstrap by item"));
  for (std::size_t sample = 0; sample < samples; ++sample) {
    std::fill(sums.begin(), sums.end(), 0.0);
    std::int64_t queries = 0;
    for (std::size_t draw = 0; draw < scored.size(); ++draw) {
      const ItemSums& item = *scored[static_cast<std::size_t>(random.index(scored.size()))];
      queries += item.queries;
      for (std::size_t i = 0; i < metrics; ++i) sums[i] += item.sums[i];
    }
    for (std::size_t i = 0; i < metrics; ++i) {
      means[i].push_back(sums[i] / static_cast<double>(queries));
    }
  }
  std::vector<ConfidenceInterval> intervals;
  for (std::vector<double>& values : means) {
    std::sort(values.begin(), values.end());
    intervals.push_back({values[cut], values[samples - 1 - cut]});
  }
  return intervals;
}

double chance_of_hit(std::int64_t gallery, std::int64_t relevant, std::int64_t k) {
  if (relevant < 1) return 0;
  double miss = 1;
  for (std::int64_t rank = 0; rank < k; ++rank) {
    if (gallery - relevant - rank < 1) return 1;
    miss *= static_cast<double>(gallery - relevant - rank) / static_cast<double>(gallery - rank);
  }
  return 1 - miss;
}

}  // namespace seam::stages
