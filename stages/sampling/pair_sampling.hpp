/// Draws pairs for training with a contrastive loss and for evaluating verification:
///
///     same item     an image and another image of its item
///     other items   an image and an image of another item
///
/// A pair depends only on (seed, stream, epoch, its number), so that any part of an epoch can be
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
  bool same = false;  ///< of one item

  friend bool operator==(const Pair&, const Pair&) = default;
};

/// How the pairs of an epoch are drawn.
enum class PairRule : std::uint8_t {
  /// Of pairs 2k and 2k + 1, one matches, in random order. A matching pair never has the same image
  /// twice, the other pair never has two images of one item.
  balanced,
  /// As in the released code of Siamese Capsule Networks: the first image is arbitrary; the second
  /// is, with probability 1/2, any image of its item, possibly the same one, or else any image,
  /// possibly of the same item.
  released
};

class PairSampler {
 public:
  /// `items[row]` is the item of a row, an arbitrary number. Throws seam::Error if there are fewer
  /// than two items, or if no item has two images.
  explicit PairSampler(std::span<const std::int64_t> items);

  /// Pair `number` (from 0) of an epoch.
  [[nodiscard]] Pair draw(PairRule rule, std::uint64_t seed, std::uint64_t stream,
                          std::uint64_t epoch, std::uint64_t number) const;

  /// `count` distinct pairs, of which those at even positions match; (a, b) and (b, a) are the same
  /// pair. Throws seam::Error (configuration) if `count` is odd or there are too few pairs.
  [[nodiscard]] std::vector<Pair> distinct(std::int64_t count, std::uint64_t seed) const;

  /// Every pair of two images: first < second, ascending.
  [[nodiscard]] std::vector<Pair> all() const;

  [[nodiscard]] std::int64_t images() const {
    return static_cast<std::int64_t>(item_of_row_.size());
  }
  /// The number of pairs of two images: of one item, and of two.
  [[nodiscard]] std::int64_t same_pairs() const { return pair_end_of_item_.back(); }
  [[nodiscard]] std::int64_t other_pairs() const;

 private:
  [[nodiscard]] Pair of_one_item(Random& random) const;
  [[nodiscard]] Pair of_two_items(Random& random) const;
  [[nodiscard]] Pair released(Random& random) const;
  /// Pair `number` of the pairs of one item, and of all pairs.
  [[nodiscard]] Pair same_pair(std::int64_t number) const;
  [[nodiscard]] Pair any_pair(std::int64_t number) const;

  std::vector<std::int64_t> item_of_row_;   // dense item numbers
  std::vector<std::int64_t> rows_of_item_;  // rows, item by item
  std::vector<std::int64_t> first_;         // the start of each item's rows; one more than items
  std::vector<std::int64_t> shared_;        // rows whose item has another image
  std::vector<std::int64_t> pair_end_of_item_;  // the end of each item's matching pairs
};

}  // namespace seam::stages
