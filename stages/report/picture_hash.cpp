#include "stages/report/picture_hash.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include <seam/error.hpp>
#include <seam/opencv.hpp>

#include "stages/image/resize_image.hpp"

namespace seam::stages {
namespace {

constexpr int hash_rows = 8;
constexpr int hash_bits_of_row = 8;

Image converted(const Image& image, int code) {
  cv::Mat pixels;
  cv::cvtColor(view_as_mat(image), pixels, code);
  return image_from_mat(pixels);
}

Image grey(const Image& image) {
  if (image.channels() == 1) return image;
  return converted(image, image.channels() == 3 ? cv::COLOR_RGB2GRAY : cv::COLOR_RGBA2GRAY);
}

Image coloured(const Image& image) {
  if (image.channels() == 3) return image;
  return converted(image, image.channels() == 1 ? cv::COLOR_GRAY2RGB : cv::COLOR_RGBA2RGB);
}

}  // namespace

std::uint64_t pixels_hash(const Image& image) {
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&hash](std::uint8_t byte) { hash = (hash ^ byte) * 1099511628211U; };
  for (const int size : {image.height(), image.width(), image.channels()}) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      add(static_cast<std::uint8_t>(static_cast<std::uint32_t>(size) >> shift));
    }
  }
  for (const std::uint8_t byte : image.pixels()) add(byte);
  return hash;
}

std::uint64_t difference_hash(const Image& image) {
  const Image small =
      resize_image(grey(image), hash_rows, hash_bits_of_row + 1, Interpolation::area);
  std::uint64_t hash = 0;
  for (int y = 0; y < hash_rows; ++y) {
    const std::uint8_t* row = small.row(y);
    for (int x = 0; x < hash_bits_of_row; ++x) {
      if (row[x] < row[x + 1]) hash |= std::uint64_t{1} << (hash_bits_of_row * y + x);
    }
  }
  return hash;
}

SmallPicture small_picture(const Image& image) {
  const Image small = resize_image(coloured(image), small_side, small_side, Interpolation::area);
  SmallPicture numbers;
  std::ranges::copy(small.pixels(), numbers.begin());
  return numbers;
}

double difference_of(const SmallPicture& a, const SmallPicture& b) {
  std::int32_t squares = 0;  // at most 768 * 255^2
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int difference = int{a[i]} - int{b[i]};
    squares += difference * difference;
  }
  return std::sqrt(static_cast<double>(squares) / static_cast<double>(a.size()));
}

PictureHash hash_of(const Image& image) {
  if (image.empty()) throw Error("the image has no pixels");
  return {pixels_hash(image), difference_hash(image), small_picture(image)};
}

}  // namespace seam::stages
