/// Which pictures of one flow are those of another, or nearly.
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
  std::string file;  ///< in one spelling, or empty where it has none
  std::string item;  ///< empty where it is not known

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
  double difference = 0;  ///< of the small pictures, 0 to 255
  std::size_t flow = 0;   ///< of the others
  std::size_t row = 0;    ///< the picture
  std::size_t other = 0;  ///< and the one in the other flow
};

struct DuplicateCount {
  std::size_t compared_with = 0;  ///< pictures of the other flows
  std::size_t identical = 0;      ///< pictures that have one of the same pixels there
  std::size_t near = 0;           ///< pictures that have none, but one nearly the same
  std::int64_t identical_pairs = 0;
  std::int64_t near_pairs = 0;
};

struct Duplicates {
  std::vector<DuplicateCount> by_flow;  ///< as many as others
  DuplicateCount all;                   ///< a picture counts once, whatever flows it is in
  std::vector<DuplicatePair> pairs;  ///< the nearest of all, by likeness, difference, flow and rows
};

struct DuplicateRule {
  /// Pictures are nearly the same if their difference hashes differ in at most so many bits and
  /// their small pictures by at most so much.
  int near_bits = 0;
  double near_difference = 0;
  std::size_t pairs = 0;  ///< how many are kept
};

/// Compares each picture of `flow` with all of the others'; with itself where that is one of them,
/// each pair of pictures once, both of which count. Time: a few nanoseconds a pair of pictures.
/// `stop` is asked now and then; where it says yes, seam::Error (cancelled) is thrown.
[[nodiscard]] Duplicates find_duplicates(const HashedFlow& flow,
                                         const std::vector<const HashedFlow*>& others,
                                         const DuplicateRule& rule,
                                         const std::function<bool()>& stop);

}  // namespace seam::stages
