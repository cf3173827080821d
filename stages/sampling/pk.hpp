/// The collector `sampling.pk`: collects the images of an epoch, then emits batches of P items with
/// K images of each (Hermans, Beyer, Leibe, "In Defense of the Triplet Loss for Person
/// Re-Identification", 2017, section 2).
///
///     images ──► [ rows ] ──► item 7: K images, item 2: K images, ... P items    group 0
///                             item 5: K images, ...                              group 1
///
///     items in a new order ──► P at a time ──► K images of each
///
/// With categories, batches are drawn from a few of them, since similar items make more informative
/// negatives:
///
///     items in a new order, category by category ──► cut into cells of P / C items
///     cells in a new order ──► C at a time ──► K images of each item
///
/// A batch depends only on (seed, stream, epoch, its number).
#pragma once

#include "stages/sampling/base/epoch_sampler.hpp"
#include "stages/sampling/base/item_index.hpp"

namespace seam::stages {

/// The categories from which a batch draws its items.
struct BatchCategories {
  std::int64_t count = 0;  ///< C, which divides P; 0: items of any category
  std::span<const std::int64_t>
      of_rows{};  ///< the category of each row; an item's first row counts
};

class PkSampler {
 public:
  /// `items[row]` is the item of a row, an arbitrary number. Throws seam::Error for fewer than
  /// `items_per_batch` items.
  PkSampler(std::span<const std::int64_t> items, std::int64_t items_per_batch,
            std::int64_t images_per_item, BatchCategories categories = {});

  /// The P * K rows of batch `number` (from 0) of an epoch, item by item. In round() batches each
  /// item occurs at most once; then a new order begins. The images of an item are drawn without
  /// replacement if it has K, or else repeated evenly: their counts differ by at most one. With
  /// categories, a cell at the boundary between two categories contains items of both.
  [[nodiscard]] std::vector<std::int64_t> draw(std::uint64_t seed, std::uint64_t stream,
                                               std::uint64_t epoch, std::uint64_t number) const;

  /// The number of batches until all items have occurred, except for the last fewer than P.
  [[nodiscard]] std::int64_t round() const {
    return static_cast<std::int64_t>(index_.items()) / items_per_batch_;
  }
  /// The number of items with fewer than K images.
  [[nodiscard]] std::int64_t few_image_items() const { return few_image_items_; }

 private:
  /// A batch's items.
  [[nodiscard]] std::vector<std::size_t> items_of(const Random& key, std::uint64_t in_round) const;
  [[nodiscard]] std::vector<std::size_t> items_by_category(Random key,
                                                           std::uint64_t in_round) const;

  std::int64_t items_per_batch_;
  std::int64_t images_per_item_;
  std::int64_t categories_per_batch_;
  ItemIndex index_;
  std::vector<std::vector<std::size_t>> items_of_category_;  // empty without categories
  std::int64_t few_image_items_ = 0;
};

class Pk final : public EpochSampler {
 public:
  static constexpr std::string_view name = "sampling.pk";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet packet, Emitter& emitter, Context& context) override;

 private:
  std::int64_t start(const Context& context) override;
  std::vector<Packet> group(std::int64_t number, const Context& context) override;

  std::int64_t items_per_batch_ = 16;
  std::int64_t images_per_item_ = 4;
  std::int64_t categories_per_batch_ = 0;
  std::optional<std::int64_t> per_epoch_;

  std::vector<std::int64_t> categories_;  // of the rows; empty without `categories`
  std::optional<PkSampler> sampler_;
};

}  // namespace seam::stages
