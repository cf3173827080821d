#include "seam/bootstrap.hpp"

#include <algorithm>
#include <cstddef>

#include "seam/random.hpp"

namespace seam {
namespace {

constexpr std::size_t samples = 1000;
constexpr std::size_t cut = 25;  // 2.5 % of the samples at each end

}  // namespace

std::vector<ConfidenceInterval> bootstrap_intervals(std::span<const ClusterSums> clusters) {
  std::vector<const ClusterSums*> scored;
  for (const ClusterSums& cluster : clusters) {
    if (cluster.observations > 0) scored.push_back(&cluster);
  }
  if (scored.size() < 2) return {};
  const std::size_t metrics = scored.front()->sums.size();
  std::vector<std::vector<double>> means(metrics);
  std::vector<double> sums(metrics);
  Random random(0, stream_of("bootstrap by item"));
  for (std::size_t sample = 0; sample < samples; ++sample) {
    std::fill(sums.begin(), sums.end(), 0.0);
    std::int64_t observations = 0;
    for (std::size_t draw = 0; draw < scored.size(); ++draw) {
      const ClusterSums& cluster = *scored[static_cast<std::size_t>(random.index(scored.size()))];
      observations += cluster.observations;
      for (std::size_t i = 0; i < metrics; ++i) sums[i] += cluster.sums[i];
    }
    for (std::size_t i = 0; i < metrics; ++i) {
      means[i].push_back(sums[i] / static_cast<double>(observations));
    }
  }
  std::vector<ConfidenceInterval> intervals;
  for (std::vector<double>& values : means) {
    std::sort(values.begin(), values.end());
    intervals.push_back({values[cut], values[samples - 1 - cut]});
  }
  return intervals;
}

}  // namespace seam
