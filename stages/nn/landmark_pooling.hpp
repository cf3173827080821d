/// The features around points: FashionNet's landmark pooling (Liu et al. 2016).
///
///     map [N,C,h,w]
///       +-----------+   grid = 2, window = 3: six by six cells around the landmark. Of each
///       | ......    |   quarter the largest value of each channel is used; if a part of it is not
///       | ...x..    |   on the map, the largest of the rest; 0 if nothing is left, and for
///       | ......    |   landmarks that are not visible
///       +-----------+
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace seam::nn {

struct LandmarkRegion {
  std::int64_t grid = 2;    ///< parts in each direction
  std::int64_t window = 3;  ///< cells of a part in each direction
};

/// [N,L,C,grid,grid]. `places` [N,L,2] are x and y as fractions of the map's width and height,
/// `visible` is bool [N,L]. The gradient goes to the cells with the largest values, and not to
/// `places`.
[[nodiscard]] torch::Tensor landmark_pooling(const torch::Tensor& map, const torch::Tensor& places,
                                             const torch::Tensor& visible,
                                             const LandmarkRegion& region);

}  // namespace seam::nn
