/// Reads the lists of pairs of Labeled Faces in the Wild, as its authors publish them:
///
///     10   300                      pairs.txt (View 2): 10 folds of 300 + 300 pairs; in
///     Abel_Pacheco   1   4          pairsDevTrain.txt and pairsDevTest.txt (View 1) only "1100"
///     ...                           300 pairs of one person: NAME, two images' numbers
///     Abdel_Madi_Shabneh 1 Dean_Barker 1
///     ...                           300 pairs of two: NAME, number, NAME, number
///
/// Huang, Ramesh, Berg, Learned-Miller, "Labeled faces in the wild", 2007.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "stages/dataset/counted_list.hpp"

namespace seam::stages {

struct LfwImage {
  std::string person;
  std::int64_t number = 0;  ///< from 1

  /// "Abel_Pacheco/Abel_Pacheco_0001.jpg"
  [[nodiscard]] std::string path() const;
  friend bool operator==(const LfwImage&, const LfwImage&) = default;
  friend bool operator<(const LfwImage& a, const LfwImage& b) {
    return std::tie(a.person, a.number) < std::tie(b.person, b.number);
  }
};

struct LfwPair {
  LfwImage first;
  LfwImage second;
  std::int64_t number = 0;  ///< in the list, from 0
  std::int64_t fold = 0;
  std::int64_t line = 0;

  [[nodiscard]] bool same() const { return first.person == second.person; }
};

struct LfwPairList {
  std::int64_t folds = 1;
  std::int64_t pairs_of_each_kind = 0;  ///< in a fold
  std::vector<LfwPair> pairs;
};

/// Throws seam::Error naming file and line where the first line is no count, a line is no pair, a
/// pair of the other kind stands where the first line says, a pair has one image twice or is there
/// twice, or the list has more or fewer pairs than the first line promises.
[[nodiscard]] LfwPairList parse_lfw_pairs(const ListText& list);

}  // namespace seam::stages
