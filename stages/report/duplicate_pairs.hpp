/// Finds the images of one flow that are identical, or nearly, to images of others.
///
///     queries    q0  q1  q2
///                │        │         q0 and t7 have the same pixels, q2 and t1 nearly
///     training   t7      t1
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <seam/origin.hpp>

#include "stages/report/picture_hash.hpp"

namespace seam::stages {

struct HashedPicture {
  PictureHash hash;
  Origin origin;
  std::string file;  ///< in canonical spelling, or empty if unknown
  std::string item;  ///< empty if unknown

  friend bool operator==(const HashedPicture&, const HashedPicture&) = default;
};

struct HashedFlow {
  std::string name;
  std::vector<HashedPicture> pictures;

  friend bool operator==(const HashedFlow&, const HashedFlow&) = default;
};

/// The nearest first.
enum class Likeness : std::uint8_t { same_file, same_pixels, near };

struct DuplicatePair {
  Likeness likeness = Likeness::near;
  double difference = 0;  ///< of the small images, 0 to 255
  std::size_t flow = 0;   ///< index among the others
  std::size_t row = 0;    ///< of the image
  std::size_t other = 0;  ///< row of the image in the other flow
};

struct DuplicateCount {
  std::size_t compared_with = 0;  ///< number of images of the other flows
  std::size_t identical = 0;      ///< number of images with an identical one there
  std::size_t near =
      0;  ///< number of images without an identical one, but with a nearly identical one
  std::int64_t identical_pairs = 0;
  std::int64_t near_pairs = 0;
};

struct Duplicates {
  std::vector<DuplicateCount> by_flow;  ///< one per other flow
  DuplicateCount all;                   ///< each image counts once, even if it is in several flows
  std::vector<DuplicatePair>
      pairs;  ///< the nearest, ordered by likeness, difference, flow and rows
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
