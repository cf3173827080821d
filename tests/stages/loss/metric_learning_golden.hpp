/// What pytorch-metric-learning 2.9.0 computes; metric_learning_golden.py prints this.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/stages/golden/numbers.hpp"

namespace seam::test {

/// A loss of an embedding [labels, dimensions] of numbers() with this phase.
struct PairGolden {
  std::vector<double> options;
  std::vector<std::int64_t> labels;
  std::int64_t dimensions;
  double phase;
  double loss;
  Digest gradient;
};

/// The same with proxies, which have half the phase.
struct ProxyGolden {
  PairGolden batch;
  std::int64_t proxies;
  Digest gradient;
};

/// Options: margin, alpha.
inline std::vector<ProxyGolden> proxy_anchor_golden() {
  return {
      {{{0.1, 32}, {0, 1, 2, 3, 1}, 3, 1, 23.8767322, {-13.5535897, 20.8137264}},
       4,
       {-3.91359731, 12.357543}},
      {{{0.1, 32}, {3, 3, 0, 3, 0, 4}, 4, 2, 46.5167526, {-2.16865389, 25.3067488}},
       5,
       {17.5516026, 21.1057035}},
      {{{0.4, 2.5}, {1, 1}, 2, 3, 3.76867124, {-1.51439276, 9.85535945}},
       3,
       {-1.77300868, 7.79039628}},
  };
}

/// Options: margin in degrees, scale.
inline std::vector<ProxyGolden> arcface_golden() {
  return {
      {{{28.6, 64}, {0, 1, 2, 3, 1}, 3, 4, 75.1614236, {-44.594276, 44.4304393}},
       4,
       {-7.61993285, 64.1003856}},
      {{{120, 2}, {3, 3, 0, 3, 0, 4}, 4, 5, 5.97161819, {0.642575452, 0.713281554}},
       5,
       {-0.384776121, 1.22858104}},
      {{{0, 1}, {1, 1}, 2, 6, 1.40096994, {-0.292954589, 0.694122635}},
       3,
       {-0.203892385, 0.73983831}},
  };
}

/// Options: alpha, beta, lambda, epsilon.
inline std::vector<PairGolden> multi_similarity_golden() {
  return {
      {{2, 50, 0.5, 0.1}, {0, 0, 1, 1, 2, 2}, 5, 7, 0.83904809, {-0.627850685, 0.671470948}},
      {{2, 50, 0.5, 0.1}, {0, 0, 0, 1, 2, 1, 0, 3}, 3, 8, 1.24268861, {0.33016047, 0.616528642}},
      {{1.5, 10, 0.2, 0.5}, {7, 7, 3, 3, 7, 3}, 4, 9, 1.23044877, {-0.210838851, 0.659330633}},
  };
}

/// Options: margin.
inline std::vector<PairGolden> batch_hard_golden() {
  return {
      {{0.2}, {0, 0, 1, 1, 2, 2}, 4, 10, 0.723154523, {-0.797262214, 0.894056536}},
      {{1.5}, {5, 2, 5, 5, 2, 2, 9, 9}, 6, 11, 2.28388092, {-0.112548564, 0.7349442}},
  };
}

/// Options: temperature.
inline std::vector<PairGolden> supervised_contrastive_golden() {
  return {
      {{0.1}, {0, 0, 1, 1, 2, 2}, 4, 12, 5.14394836, {7.06802229, 8.21047229}},
      {{0.1}, {0, 0, 0, 1, 2, 1, 0, 3}, 5, 13, 4.73991749, {-1.088776, 4.67502775}},
      {{1.5}, {7, 7, 3}, 3, 14, 0.299601724, {0.158200508, 0.45845671}},
  };
}

/// Options: margin, scale.
inline std::vector<PairGolden> circle_golden() {
  return {
      {{0.4, 80}, {0, 0, 1, 1, 2, 2}, 4, 15, 78.8917282, {-75.0178571, 95.1767836}},
      {{0.25, 2}, {0, 0, 0, 1, 2, 1, 0, 3}, 5, 16, 4.03200085, {0.137921645, 1.25411724}},
      {{0, 256}, {7, 7, 3}, 3, 17, 5.50380605, {-3.97988077, 46.1672336}},
  };
}

/// Batches in a row with one memory.
struct MemoryGolden {
  double margin;
  std::int64_t memory;
  std::vector<PairGolden> batches;
};

inline std::vector<MemoryGolden> cross_batch_memory_golden() {
  return {
      {0.5,
       12,
       {
           {{}, {0, 0, 1, 1}, 4, 18, 0.704714292, {0.425045434, 0.637364118}},
           {{}, {2, 2, 0, 3}, 4, 19, 1.74883253, {-0.0221453008, 0.585209485}},
           {{}, {1, 3, 4, 4}, 4, 20, 1.08325079, {0.334075634, 0.464984096}},
           {{}, {0, 5, 5, 6}, 4, 21, 1.1874061, {-0.350316946, 0.598930278}},
           {{}, {1, 1, 2, 0}, 4, 22, 1.33071488, {-0.0175016149, 0.488682926}},
       }},
      {0.0,
       7,
       {
           {{}, {0, 1, 0}, 3, 23, 2.79243382, {-0.30953794, 0.566898934}},
           {{}, {1, 1, 2}, 3, 24, 1.72737463, {-0.262667213, 0.980557538}},
           {{}, {2, 0, 2}, 3, 25, 1.81236408, {0.28393177, 0.771357245}},
           {{}, {0, 3, 3}, 3, 26, 2.16093377, {0.243373057, 0.841946828}},
       }},
      {0.9,
       3,
       {
           {{}, {0, 1, 0}, 3, 27, 1.95767627, {-0.0321782846, 0.210663978}},
           {{}, {0, 0, 2}, 3, 28, 1.06718256, {-0.177826674, 1.91974732}},
       }},
  };
}

}  // namespace seam::test
