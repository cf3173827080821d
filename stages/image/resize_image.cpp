#include "stages/image/resize_image.hpp"

#include <algorithm>
#include <cstdint>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <vector>

#include <seam/opencv.hpp>

namespace seam::stages {
namespace {

/// Position x of `length` is looked up at (x + 1/2) * source_length / length, rounded down.
std::size_t nearest_place(int x, int length, int source_length) {
  return static_cast<std::size_t>((2 * std::int64_t{x} + 1) * source_length /
                                  (2 * std::int64_t{length}));
}

Image pick_nearest(const Image& image, int height, int width) {
  const auto channels = static_cast<std::size_t>(image.channels());
  std::vector<std::size_t> columns;
  columns.reserve(static_cast<std::size_t>(width));
  for (int x = 0; x < width; ++x) {
    columns.push_back(nearest_place(x, width, image.width()) * channels);
  }
  Image result(height, width, image.channels());
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* source =
        image.row(static_cast<int>(nearest_place(y, height, image.height())));
    std::uint8_t* out = result.row(y);
    for (const std::size_t column : columns) out = std::copy_n(source + column, channels, out);
  }
  return result;
}

}  // namespace

Image resize_image(const Image& image, int height, int width, Interpolation interpolation) {
  if (image.empty() || image.bytes() == 0 || height < 1 || width < 1) {
    throw std::invalid_argument("resizing needs an image and sides of at least one pixel");
  }
  if (image.height() == height && image.width() == width) return image;
  // Not OpenCV's nearest modes: one of the two rounds positions down, the other rounds halves down.
  if (interpolation == Interpolation::nearest) return pick_nearest(image, height, width);
  Image result(height, width, image.channels());
  cv::Mat target = view_as_mat(result);
  cv::resize(view_as_mat(image), target, target.size(), 0, 0,
             interpolation == Interpolation::area ? cv::INTER_AREA : cv::INTER_LINEAR);
  return result;
}

}  // namespace seam::stages
