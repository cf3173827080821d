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
    {{1, 0.7272727489471436, 0.7272727489471436, 0.7272727489471436},
     {3, 0.9090909361839294, 0.636363685131073, 0.7727272510528564},
     {10, 1.0, 0.6303029656410217, 0.6703006029129028}},
    {{1, 0.5454545617103577, 0.5454545617103577, 0.5454545617103577},
     {3, 0.7727272510528564, 0.4545454680919647, 0.6401515603065491},
     {10, 0.9090909361839294, 0.3583333492279053, 0.6013932824134827}},
    {{1, 0.6000000238418579, 0.6000000238418579, 0.6000000238418579},
     {3, 0.8500000238418579, 0.42500001192092896, 0.7083333730697632},
     {10, 0.925000011920929, 0.5409722328186035, 0.5853123664855957}},
};

}  // namespace seam::test
