/// What OpenMetricLearning 4.0.0 computes from the embeddings of accuracy_golden.hpp;
/// oml_golden.py prints this.
#pragma once

#include <cstdint>
#include <vector>

namespace seam::test {

struct OmlGolden {
  std::int64_t k;
  double cmc;
  double precision;
  double map;
};

/// For each case of accuracy_golden.
inline const std::vector<std::vector<OmlGolden>> oml_golden{
    {{1, 0.5, 0.5, 0.5},
     {3, 0.75, 0.5, 0.6111111640930176},
     {10, 1.0, 0.42499998211860657, 0.5987595915794373}},
    {{1, 0.3333333432674408, 0.3333333432674408, 0.3333333432674408},
     {3, 0.6190476417541504, 0.4126984179019928, 0.4761904776096344},
     {10, 0.9523809552192688, 0.4651171863079071, 0.49493512511253357}},
    {{1, 0.4749999940395355, 0.4749999940395355, 0.4749999940395355},
     {3, 0.7250000238418579, 0.4333333373069763, 0.5645833015441895},
     {10, 0.925000011920929, 0.6651785969734192, 0.5402695536613464}},
};

}  // namespace seam::test
