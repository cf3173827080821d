/// Finds the images of one flow that are identical, or nearly, to images of others.
///
///     queries    q0  q1  q2
///                │        │         q0 and t7 have the same pixels, q2 and t1 nearly
///     training   t7      t1
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <seam/image.hpp>
#include <seam/origin.hpp>
#include <vector>

namespace seam::stages {

// Detects whether two images are the same, or nearly: two hashes and a very small image.
//
//     image ────┬──► FNV-1a of size and pixels                   ──► pixels: equal if identical
//               ├──► grey ──► 9 x 8 ──► left darker than right?  ──► differences: few bits differ
//               └──► 16 x 16                                     ──► small: levels differ little

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

struct HashedPicture {
  PictureHash hash;
  Origin origin;
  std::string file;  ///< in canonical spelling, or empty if unknown
  std::string item;  ///< empty if unknown
};

struct HashedFlow {
  std::string name;
  std::vector<HashedPicture> pictures;
};

/// The nearest first.
enum class Likeness : std::uint8_t { same_file, same_pixels, near };

/// Ordered by all of these.
struct DuplicatePair {
  Likeness likeness = Likeness::near;
  double difference = 0;  ///< of the small images, 0 to 255
  std::size_t flow = 0;   ///< index among the others
  std::size_t row = 0;    ///< of the image
  std::size_t other = 0;  ///< row of the image in the other flow

  friend auto operator<=>(const DuplicatePair&, const DuplicatePair&) = default;
};

struct DuplicateCount {
  std::int64_t compared_with = 0;  ///< number of images of the other flows
  std::int64_t identical = 0;      ///< number of images with an identical one there
  std::int64_t near = 0;           ///< number of other images with a nearly identical one
  std::int64_t identical_pairs = 0;
  std::int64_t near_pairs = 0;
};

struct Duplicates {
  std::vector<DuplicateCount> by_flow;  ///< one per other flow
  DuplicateCount all;                   ///< each image counts once, even if it is in several flows
  std::vector<DuplicatePair> pairs;     ///< the nearest, sorted
};

struct DuplicateRule {
  /// Images are nearly identical if their difference hashes differ in at most `near_bits` bits and
  /// their small images by at most `near_difference`.
  int near_bits = 0;
  double near_difference = 0;
  std::size_t pairs = 0;  ///< maximum number to return
};

/// Compares each image of `flow` with all images of the others. If `flow` is one of them, each pair
/// of its images is compared once, and both images count. Time: a few nanoseconds per pair. `stop`
/// is called regularly; if it returns true, seam::Error (cancelled) is thrown.
[[nodiscard]] Duplicates find_duplicates(const HashedFlow& flow,
                                         const std::vector<const HashedFlow*>& others,
                                         const DuplicateRule& rule,
                                         const std::function<bool()>& stop);

}  // namespace seam::stages
