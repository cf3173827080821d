#include "stages/nn/landmark_pooling.hpp"

#include <torch/types.h>

#include <limits>
#include <tuple>

namespace seam::nn {
namespace {

using torch::Tensor;

/// Cells in one direction: their indices, clamped to the map, and whether they were on it.
struct Cells {
  Tensor index;  ///< [N,L,side]
  Tensor on_map;
};

Cells cells_around(const Tensor& share, std::int64_t size, std::int64_t side) {
  // Cell i has its centre at (i + 1/2) / size; the first cell is such that the centre of all cells
  // is nearest to the landmark.
  const double before = 0.5 * static_cast<double>(side);
  const Tensor first = (share.detach().to(torch::kFloat64) * static_cast<double>(size) - before)
                           .round()
                           .nan_to_num(0)
                           .clamp(static_cast<double>(-side), static_cast<double>(size))
                           .to(torch::kInt64);
  const Tensor wanted = first.unsqueeze(-1) + torch::arange(side, first.options());
  return {wanted.clamp(0, size - 1), (wanted >= 0).logical_and(wanted < size)};
}

}  // namespace

Tensor landmark_pooling(const Tensor& map, const Tensor& places, const Tensor& visible,
                        const LandmarkRegion& region) {
  const std::int64_t images = map.size(0);
  const std::int64_t channels = map.size(1);
  const std::int64_t height = map.size(2);
  const std::int64_t width = map.size(3);
  const std::int64_t landmarks = places.size(1);
  const std::int64_t grid = region.grid;
  const std::int64_t window = region.window;
  const Cells rows = cells_around(places.select(2, 1), height, grid * window);
  const Cells columns = cells_around(places.select(2, 0), width, grid * window);
  const Tensor image =
      torch::arange(images, rows.index.options()).view({images, 1, 1, 1}) * (height * width);
  const Tensor cell = image + rows.index.unsqueeze(-1) * width + columns.index.unsqueeze(-2);
  const Tensor on_map = rows.on_map.unsqueeze(-1).logical_and(columns.on_map.unsqueeze(-2));
  // By rows of cells, so that the gradient is summed in an order that does not depend on threads.
  const Tensor by_cell = map.permute({0, 2, 3, 1}).reshape({images * height * width, channels});
  constexpr double nothing = -std::numeric_limits<double>::infinity();
  const Tensor values =
      by_cell.index({cell.flatten()})
          .view({images, landmarks, grid, window, grid, window, channels})
          .masked_fill(
              on_map.logical_not().view({images, landmarks, grid, window, grid, window, 1}),
              nothing);
  const Tensor largest =
      std::get<0>(values.permute({0, 1, 6, 2, 4, 3, 5})
                      .reshape({images, landmarks, channels, grid, grid, window * window})
                      .max(-1));
  const Tensor closed = visible.logical_not().view({images, landmarks, 1, 1, 1});
  return largest.masked_fill((largest == nothing).logical_or(closed), 0);
}

}  // namespace seam::nn
