/// Small drawn images, for tests without data files.
#pragma once

#include <algorithm>
#include <cmath>

#include <seam/packet.hpp>
#include <seam/random.hpp>

namespace seam::test {

/// Colours that change slowly over the image, so that lossy formats keep them.
inline Image smooth_picture(int height, int width) {
  Image image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::uint8_t* pixel = image.row(y) + 3 * static_cast<std::size_t>(x);
      pixel[0] = static_cast<std::uint8_t>(127.5 + 100 * std::sin(0.06 * x + 1));
      pixel[1] = static_cast<std::uint8_t>(127.5 + 100 * std::sin(0.05 * y + 2));
      pixel[2] = static_cast<std::uint8_t>(127.5 + 100 * std::sin(0.04 * (x + y)));
    }
  }
  return image;
}

/// A grey picture of these values, row by row.
inline Image grey_picture(int height, int width, const std::vector<int>& values) {
  Image image(height, width, 3);
  for (std::size_t i = 0; i < image.bytes(); ++i) {
    image.data()[i] = static_cast<std::uint8_t>(values.at(i / 3));
  }
  return image;
}

/// The first channel of each pixel.
inline std::vector<int> greys(const Image& image) {
  std::vector<int> values;
  for (std::size_t i = 0; i < image.bytes(); i += 3) values.push_back(image.data()[i]);
  return values;
}

inline Image filled(int height, int width, std::uint8_t value, int channels = 3) {
  Image image(height, width, channels);
  std::fill_n(image.data(), image.bytes(), value);
  return image;
}

/// Random bytes.
inline Image noise(int height, int width, std::uint64_t seed) {
  Random random(seed, 0);
  Image image(height, width, 3);
  for (std::size_t i = 0; i < image.bytes(); ++i) {
    image.data()[i] = static_cast<std::uint8_t>(random.index(256));
  }
  return image;
}

inline Packet packet_with(const Image& image) {
  Packet packet;
  packet.set(field::image, image);
  return packet;
}

}  // namespace seam::test
