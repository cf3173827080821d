#include "seam/image.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace seam {
namespace {

void check_shape(int height, int width, int channels) {
  if (height < 0 || width < 0 || !(channels == 1 || channels == 3 || channels == 4)) {
    throw std::invalid_argument("an image of " + std::to_string(height) + " x " +
                                std::to_string(width) + " x " + std::to_string(channels) +
                                " (height x width x channels): sides must not be negative and "
                                "channels must be 1, 3 or 4");
  }
}

}  // namespace

Image::Image(int height, int width, int channels)
    : height_(height), width_(width), channels_(channels) {
  check_shape(height, width, channels);
  pixels_ = std::shared_ptr<std::uint8_t>(new std::uint8_t[std::max<std::size_t>(bytes(), 1)],
                                          std::default_delete<std::uint8_t[]>());
}

Image::Image(int height, int width, int channels, std::shared_ptr<std::uint8_t> owner)
    : height_(height), width_(width), channels_(channels), pixels_(std::move(owner)) {
  check_shape(height, width, channels);
}

Image Image::clone() const {
  if (empty()) return {};
  Image copy(height_, width_, channels_);
  std::copy_n(data(), bytes(), copy.data());
  return copy;
}

bool operator==(const Image& a, const Image& b) {
  return a.height_ == b.height_ && a.width_ == b.width_ && a.channels_ == b.channels_ &&
         std::equal(a.data(), a.data() + a.bytes(), b.data());
}

}  // namespace seam
