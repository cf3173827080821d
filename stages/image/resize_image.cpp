#include "stages/image/resize_image.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
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

/// Weights are whole numbers, so that every machine gives the same bytes; 255 times their sum fits.
constexpr int weight_bits = 22;
constexpr std::int32_t half = 1 << (weight_bits - 1);

/// Which places of a line make up one of the resized line, and by what weights.
struct Footprint {
  std::size_t first = 0;
  std::vector<std::int32_t> weights;  // of `first` and those after it; together about 2^weight_bits
};

/// Triangles around the new centres, as wide as the larger of an old and a new place on each side.
std::vector<Footprint> footprints(int length, int source_length) {
  const double scale = static_cast<double>(source_length) / length;
  const double reach = std::max(scale, 1.0);
  std::vector<Footprint> result(static_cast<std::size_t>(length));
  for (std::size_t x = 0; x < result.size(); ++x) {
    const double centre = (static_cast<double>(x) + 0.5) * scale;
    const int first = std::max(static_cast<int>(std::floor(centre - reach + 0.5)), 0);
    const int end = std::min(static_cast<int>(std::floor(centre + reach + 0.5)), source_length);
    std::vector<double> heights;
    double sum = 0;
    for (int i = first; i < end; ++i) {
      heights.push_back(std::max(1 - std::abs(i + 0.5 - centre) / reach, 0.0));
      sum += heights.back();
    }
    result[x].first = static_cast<std::size_t>(first);
    for (const double height : heights) {
      const double weight = std::ldexp(height / sum, weight_bits);
      result[x].weights.push_back(static_cast<std::int32_t>(std::lround(weight)));
    }
  }
  return result;
}

std::uint8_t level_of(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::min(sum >> weight_bits, 255));
}

Image resize_rows(const Image& image, int width) {
  const auto channels = static_cast<std::size_t>(image.channels());
  const std::vector<Footprint> columns = footprints(width, image.width());
  Image result(image.height(), width, image.channels());
  for (int y = 0; y < image.height(); ++y) {
    std::uint8_t* out = result.row(y);
    for (const Footprint& column : columns) {
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint8_t* source = image.row(y) + column.first * channels + c;
        std::int32_t sum = half;
        for (std::size_t i = 0; i < column.weights.size(); ++i) {
          sum += column.weights[i] * source[i * channels];
        }
        *out++ = level_of(sum);
      }
    }
  }
  return result;
}

Image resize_columns(const Image& image, int height) {
  Image result(height, image.width(), image.channels());
  std::vector<std::int32_t> sums(image.row_bytes());
  int y = 0;
  for (const Footprint& row : footprints(height, image.height())) {
    std::ranges::fill(sums, half);
    for (std::size_t i = 0; i < row.weights.size(); ++i) {
      const std::uint8_t* source = image.row(static_cast<int>(row.first + i));
      const std::int32_t weight = row.weights[i];
      for (std::size_t at = 0; at < sums.size(); ++at) sums[at] += weight * source[at];
    }
    std::ranges::transform(sums, result.row(y++), level_of);
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
  // OpenCV does not have this one either: its INTER_AREA gives all covered pixels the same weight.
  if (interpolation == Interpolation::antialiased) {
    return resize_columns(resize_rows(image, width), height);
  }
  Image result(height, width, image.channels());
  cv::Mat target = view_as_mat(result);
  cv::resize(view_as_mat(image), target, target.size(), 0, 0,
             interpolation == Interpolation::area ? cv::INTER_AREA : cv::INTER_LINEAR);
  return result;
}

}  // namespace seam::stages
