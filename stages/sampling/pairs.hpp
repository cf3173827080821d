/// The collector `sampling.pairs`: collects the images of an epoch, then emits pairs.
///
///     images ──► [ rows ] ──► pair 0: two packets, same_item 1 │ pair 1: two packets, same_item 0
///
///     same item     an image and another image of its item
///     other items   an image and an image of another item
///
/// A pair depends only on (seed, stream, epoch, its number), so that any part of an epoch can be
/// drawn at any time, by any thread.
#pragma once

#include "stages/export/exported_file.hpp"
#include "stages/sampling/base/epoch_sampler.hpp"
#include "stages/sampling/base/item_index.hpp"

namespace seam::stages {

/// Rows of the data set.
struct Pair {
  std::int64_t first = 0;
  std::int64_t second = 0;
  bool same = false;  ///< of one item

  friend bool operator==(const Pair&, const Pair&) = default;
};

class PairSampler {
 public:
  /// `items[row]` is the item of a row, an arbitrary number. Throws seam::Error if there are fewer
  /// than two items, or if no item has two images.
  explicit PairSampler(std::span<const std::int64_t> items);

  /// Pair `number` (from 0) of an epoch. Of pairs 2k and 2k + 1, one matches, in random order. A
  /// matching pair never has the same image twice, the other pair never has two images of one item.
  [[nodiscard]] Pair draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch,
                          std::uint64_t number) const;

  /// `count` distinct pairs, of which those at even positions match; (a, b) and (b, a) are the same
  /// pair. Throws seam::Error (configuration) if `count` is odd or there are too few pairs.
  [[nodiscard]] std::vector<Pair> distinct(std::int64_t count, std::uint64_t seed) const;

  /// Every pair of two images: first < second, ascending.
  [[nodiscard]] std::vector<Pair> all() const;

  [[nodiscard]] std::int64_t images() const { return static_cast<std::int64_t>(index_.rows()); }
  /// The number of pairs of two images: of one item, and of two.
  [[nodiscard]] std::int64_t same_pairs() const { return pair_end_of_item_.back(); }
  [[nodiscard]] std::int64_t other_pairs() const;

 private:
  [[nodiscard]] Pair balanced(bool same, Random& random) const;
  [[nodiscard]] Pair pair_of(std::int64_t first, std::int64_t second) const {
    return {first, second, index_.item_of(first) == index_.item_of(second)};
  }
  [[nodiscard]] std::int64_t any_row(Random& random) const {
    return static_cast<std::int64_t>(random.index(index_.rows()));
  }
  /// Pair `number` of the pairs of one item, and of all pairs.
  [[nodiscard]] Pair same_pair(std::int64_t number) const;
  [[nodiscard]] Pair any_pair(std::int64_t number) const;

  ItemIndex index_;
  std::vector<std::int64_t> shared_;            // rows whose item has another image
  std::vector<std::int64_t> pair_end_of_item_;  // the end of each item's matching pairs
};

class DrawnPairs final : public EpochSampler {
 public:
  static constexpr std::string_view name = "sampling.pairs";

  void declare(Declaration& d) override;
  void begin(Context& context) override;

 private:
  enum class Drawn : std::uint8_t { each_epoch, once, all };

  std::int64_t start(const Context& context) override;
  std::vector<Packet> group(std::int64_t number, const Context& context) override;
  /// The pairs of `once`: they depend on the images' names, not on their order.
  [[nodiscard]] std::vector<Pair> drawn_once() const;
  /// Writes the pairs of `once`, so that others can evaluate on exactly the same pairs.
  void write_list(const Context& context) const;
  [[nodiscard]] Pair pair(std::int64_t number, const Context& context) const;

  Drawn drawn_ = Drawn::each_epoch;
  std::optional<std::int64_t> count_wanted_;

  OneFlow flow_;
  std::optional<PairSampler> sampler_;
  std::vector<Pair> fixed_;  // unused with each_epoch
};

}  // namespace seam::stages
