#include "stages/report/duplicate_pairs.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include <seam/error.hpp>

namespace seam::stages {
namespace {

enum class Found : std::uint8_t { nothing, near, identical };

bool nearer(const DuplicatePair& a, const DuplicatePair& b) {
  return std::tie(a.likeness, a.difference, a.flow, a.row, a.other) <
         std::tie(b.likeness, b.difference, b.flow, b.row, b.other);
}

/// The nearest `most` of any number of pairs, in memory for twice that number.
class NearestPairs {
 public:
  explicit NearestPairs(std::size_t most) : most_(most) {}

  void add(const DuplicatePair& pair) {
    if (most_ == 0) return;
    pairs_.push_back(pair);
    if (pairs_.size() >= 2 * most_) reduce();
  }

  [[nodiscard]] std::vector<DuplicatePair> sorted() {
    std::ranges::sort(pairs_, nearer);
    if (pairs_.size() > most_) pairs_.resize(most_);
    return std::move(pairs_);
  }

 private:
  void reduce() {
    std::ranges::nth_element(pairs_, pairs_.begin() + static_cast<std::ptrdiff_t>(most_), nearer);
    pairs_.resize(most_);
  }

  std::size_t most_;
  std::vector<DuplicatePair> pairs_;
};

Likeness likeness_of(const HashedPicture& a, const HashedPicture& b) {
  if (a.hash.pixels != b.hash.pixels) return Likeness::near;
  return !a.file.empty() && a.file == b.file ? Likeness::same_file : Likeness::same_pixels;
}

void count(const std::vector<Found>& found, DuplicateCount& counted) {
  counted.identical = static_cast<std::size_t>(std::ranges::count(found, Found::identical));
  counted.near = static_cast<std::size_t>(std::ranges::count(found, Found::near));
}

/// The data that rules out most pairs, packed for the loop over all of them.
struct Sketch {
  std::uint64_t differences;
  std::int64_t sum;  // of the small image
};

std::vector<Sketch> sketches(const HashedFlow& flow) {
  std::vector<Sketch> all;
  all.reserve(flow.pictures.size());
  for (const HashedPicture& picture : flow.pictures) {
    const SmallPicture& small = picture.hash.small;
    all.push_back(
        {picture.hash.differences, std::accumulate(small.begin(), small.end(), std::int64_t{0})});
  }
  return all;
}

}  // namespace

Duplicates find_duplicates(const HashedFlow& flow, const std::vector<const HashedFlow*>& others,
                           const DuplicateRule& rule, const std::function<bool()>& stop) {
  const std::vector<Sketch> own = sketches(flow);
  // The root of the mean square is at least the difference of the means.
  const double most_apart = rule.near_difference * std::tuple_size_v<SmallPicture>;
  NearestPairs nearest(rule.pairs);
  std::vector<Found> found_anywhere(own.size(), Found::nothing);
  Duplicates duplicates;
  for (std::size_t at = 0; at < others.size(); ++at) {
    const HashedFlow& other = *others[at];
    const bool itself = &other == &flow;
    const std::vector<Sketch> theirs = itself ? own : sketches(other);
    DuplicateCount counted;
    counted.compared_with = theirs.size();
    std::vector<Found> found(own.size(), Found::nothing);
    for (std::size_t row = 0; row < own.size(); ++row) {
      if (stop()) throw Error("stopped while images were compared", Fault::cancelled);
      const std::size_t end = itself ? row : theirs.size();
      for (std::size_t i = 0; i < end; ++i) {
        if (std::popcount(own[row].differences ^ theirs[i].differences) > rule.near_bits) continue;
        if (static_cast<double>(std::abs(own[row].sum - theirs[i].sum)) > most_apart) continue;
        const HashedPicture& a = flow.pictures[row];
        const HashedPicture& b = other.pictures[i];
        const double difference = difference_of(a.hash.small, b.hash.small);
        if (difference > rule.near_difference) continue;
        const Likeness likeness = likeness_of(a, b);
        const bool near = likeness == Likeness::near;
        ++(near ? counted.near_pairs : counted.identical_pairs);
        const Found what = near ? Found::near : Found::identical;
        found[row] = std::max(found[row], what);
        if (itself) found[i] = std::max(found[i], what);
        nearest.add({likeness, difference, at, row, i});
      }
    }
    count(found, counted);
    for (std::size_t row = 0; row < own.size(); ++row) {
      found_anywhere[row] = std::max(found_anywhere[row], found[row]);
    }
    duplicates.all.compared_with += counted.compared_with;
    duplicates.all.identical_pairs += counted.identical_pairs;
    duplicates.all.near_pairs += counted.near_pairs;
    duplicates.by_flow.push_back(counted);
  }
  count(found_anywhere, duplicates.all);
  duplicates.pairs = nearest.sorted();
  return duplicates;
}

}  // namespace seam::stages
