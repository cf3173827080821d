/// Detects whether two images are the same, or nearly: two hashes and a very small image.
///
///     image ────┬──► FNV-1a of size and pixels                   ──► pixels: equal if identical
///               ├──► grey ──► 9 x 8 ──► left darker than right?  ──► differences: few bits differ
///               └──► 16 x 16                                     ──► small: levels differ little
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <seam/image.hpp>

namespace seam::stages {

inline constexpr int small_side = 16;
/// 16 x 16 pixels in RGB.
using SmallPicture = std::array<std::uint8_t, std::size_t{small_side} * small_side * 3>;

struct PictureHash {
  std::uint64_t pixels = 0;       ///< pixels_hash()
  std::uint64_t differences = 0;  ///< difference_hash()
  SmallPicture small{};           ///< small_picture()

  friend bool operator==(const PictureHash&, const PictureHash&) = default;
};

/// FNV-1a with 64 bits (draft-eastlake-fnv-21, IETF, 2024) of height, width and channels, each as
/// four bytes with the lowest first, and of the pixels, row by row.
[[nodiscard]] std::uint64_t pixels_hash(const Image& image);

/// dHash (N. Krawetz, "Kind of Like That", hackerfactor.com, 2013): the image in grey (0.299 red,
/// 0.587 green, 0.114 blue), reduced to 9 x 8 pixels by an area filter; bit 8y + x is 1 if pixel x
/// of row y is darker than the one to its right. Alpha is ignored. The image is not empty.
[[nodiscard]] std::uint64_t difference_hash(const Image& image);

/// Reduced by an area filter. Grey becomes three equal channels, alpha is dropped. The image is not
/// empty.
[[nodiscard]] SmallPicture small_picture(const Image& image);

/// The root mean square difference over all elements, 0 to 255.
[[nodiscard]] double difference_of(const SmallPicture& a, const SmallPicture& b);

/// All hashes of an image. Throws seam::Error (data) for an empty image.
[[nodiscard]] PictureHash hash_of(const Image& image);

}  // namespace seam::stages
