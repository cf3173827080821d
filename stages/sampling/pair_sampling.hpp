/// Draws the pairs that a contrastive loss learns from and that verification is measured on:
///
///     same item     an image and another one of its item
///     other items   an image and an image of another item
///
/// A pair depends on (seed, stream, epoch, its number) alone, so that any part of an epoch can be
/// drawn at any time, by any thread.
#pragma once

#include <cstdint>
#include <seam/random.hpp>
#include <span>
#include <vector>

namespace seam::stages {

/// Rows of the data set.
struct Pair {
  std::int64_t first = 0;
  std::int64_t second = 0;
  bool same = false;  ///< they are of one item

  friend bool operator==(const Pair&, const Pair&) = default;
};

/// How the pairs of an epoch are drawn.
enum class PairRule : std::uint8_t {
  /// Of pairs 2k and 2k + 1 one is of one item, in random order. A pair of one item never has the
  /// same image twice, the other never two images of one item.
  balanced,
  /// As the code released with Siamese Capsule Networks: the first image is any; with probability
  /// 1/2 the second is any image of its item, perhaps the same one, else any image at all, perhaps
  /// of the same item.
  released
};

class PairSampler {
 public:
  /// `items[row]` is the item of a row, any numbers. Throws seam::Error where there are fewer than
  /// two items, or where no item has two images.
  explicit PairSampler(std::span<const std::int64_t> items);

  /// Pair `number` (from 0) of an epoch.
  [[nodiscard]] Pair draw(PairRule rule, std::uint64_t seed, std::uint64_t stream,
                          std::uint64_t epoch, std::uint64_t number) const;

  /// So many different pairs, half of them of one item, those in the even places; (a, b) and (b, a)
  /// are one pair. Throws seam::Error (configuration) where `count` is odd or there are too few.
  [[nodiscard]] std::vector<Pair> distinct(std::int64_t count, std::uint64_t seed) const;

  /// Every pair of two images: first < second, ascending.
  [[nodiscard]] std::vector<Pair> all() const;

  [[nodiscard]] std::int64_t images() const {
    return static_cast<std::int64_t>(item_of_row_.size());
  }
  /// How many pairs of two images there are: of one item, and of two.
  [[nodiscard]] std::int64_t same_pairs() const { return pair_end_of_item_.back(); }
  [[nodiscard]] std::int64_t other_pairs() const;

 private:
  [[nodiscard]] Pair of_one_item(Random& random) const;
  [[nodiscard]] Pair of_two_items(Random& random) const;
  [[nodiscard]] Pair released(Random& random) const;
  /// Pair `number` of the pairs of one item, and of all pairs.
  [[nodiscard]] Pair same_pair(std::int64_t number) const;
  [[nodiscard]] Pair any_pair(std::int64_t number) const;

  std::vector<std::int64_t> item_of_row_;       // dense item numbers
  std::vector<std::int64_t> rows_of_item_;      // rows, item by item
  std::vector<std::int64_t> first_;             // where an item's rows start; one more than items
  std::vector<std::int64_t> shared_;            // rows whose item has another image
  std::vector<std::int64_t> pair_end_of_item_;  // where the pairs of one item end, item by item
};

}  // namespace seam::stages
