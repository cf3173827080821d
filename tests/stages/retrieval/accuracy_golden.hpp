/// What pytorch-metric-learning 2.9.0 computes; accuracy_golden.py prints this.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/stages/golden/numbers.hpp"

namespace seam::test {

/// Images of two lists. Without a gallery: leave-one-out.
struct AccuracyGolden {
  std::int64_t queries, gallery, dimensions;
  std::int64_t items;  ///< the gallery lacks the last one
  double precision_at_1, r_precision, map_at_r, mrr;
};

struct MadeUpImages {
  std::vector<std::int64_t> items;
  torch::Tensor embedding;  ///< f32
};

/// Each image is near the centre of its item.
inline MadeUpImages made_up_images(std::int64_t count, std::int64_t items, std::int64_t dimensions,
                                   double phase) {
  const torch::Tensor labels =
      (numbers(count, phase).abs() * static_cast<double>(items)).to(torch::kInt64);
  const torch::Tensor centres = numbers(items * dimensions, 0.3).view({items, dimensions});
  const torch::Tensor noise = numbers(count * dimensions, phase + 0.5).view({count, dimensions});
  return {{labels.data_ptr<std::int64_t>(), labels.data_ptr<std::int64_t>() + count},
          (centres.index_select(0, labels) + noise).to(torch::kFloat32)};
}
inline MadeUpImages queries_of(const AccuracyGolden& golden) {
  return made_up_images(golden.queries, golden.items, golden.dimensions, 1);
}
inline MadeUpImages gallery_of(const AccuracyGolden& golden) {
  return made_up_images(golden.gallery, golden.items - 1, golden.dimensions, 2);
}

inline const std::vector<AccuracyGolden> accuracy_golden{
    {12, 40, 6, 5, 0.7272727272727273, 0.518939393939394, 0.4023786512659619, 0.8143939971923828},
    {25, 60, 4, 9, 0.5454545454545454, 0.281439393939394, 0.20497354847733631, 0.6789243221282959},
    {40, 0, 5, 8, 0.6, 0.3626388888888889, 0.27867030423280426, 0.7332772016525269},
};

}  // namespace seam::test
