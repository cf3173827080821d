/// The collector `sampling.triplets`: collects the images of an epoch, then emits triplets.
///
///     images ──► [ rows ] ──► anchor 0, positive 0, negative 0, anchor 1, ...
///                   ▲ mined = "...": hard negatives of sampling.mined
///
///     anchor      an image
///     positive    another image of the same item
///     negative    an image of any other item (random_other_item)
///
/// A triplet depends only on (seed, stream, epoch, its number), so that any part of an epoch can be
/// drawn at any time, by any thread, without memory except the item lists.
#pragma once

#include "stages/sampling/base/epoch_sampler.hpp"
#include "stages/sampling/base/item_index.hpp"
#include "stages/sampling/mined_negatives.hpp"

namespace seam::stages {

/// Rows of the data set.
struct DrawnTriplet {
  std::int64_t anchor = 0;
  std::int64_t positive = 0;
  std::int64_t negative = 0;

  friend bool operator==(const DrawnTriplet&, const DrawnTriplet&) = default;
};

/// The source of an epoch's anchors.
enum class AnchorChoice : std::uint8_t {
  with_replacement,  ///< uniform over images, as in the released SCCapsNet code
  each_image_once,   ///< a new order every epoch; another round starts when all have been anchors
};

class TripletSampler {
 public:
  /// `items[row]` is the item of a row, an arbitrary number. Throws seam::Error if there are fewer
  /// than two items.
  TripletSampler(std::span<const std::int64_t> items, AnchorChoice anchors);

  /// Triplet `number` (from 0) of an epoch. The positive is uniform over the item's other images,
  /// or the anchor itself if there is none, as in the released code. The negative is uniform over
  /// all images of other items (the released code achieves this by redrawing while it hits the same
  /// item).
  [[nodiscard]] DrawnTriplet draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch,
                                  std::uint64_t number) const;

  /// The number of items with one image.
  [[nodiscard]] std::int64_t single_image_items() const { return single_image_items_; }

 private:
  [[nodiscard]] std::int64_t anchor_of(std::uint64_t seed, std::uint64_t stream,
                                       std::uint64_t epoch, std::uint64_t number) const;

  AnchorChoice choice_;
  ItemIndex index_;
  std::int64_t single_image_items_ = 0;
};

class Triplets final : public EpochSampler {
 public:
  static constexpr std::string_view name = "sampling.triplets";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;

 private:
  /// The row of this flow for each position among mined images; empty: as drawn.
  struct MinedRows {
    std::vector<std::int64_t> negatives;
    std::vector<std::int64_t> positives;
  };

  std::int64_t start(const Context& context) override;
  std::vector<Packet> group(std::int64_t number, const Context& context) override;
  [[nodiscard]] bool mines_in(const Context& context) const;
  [[nodiscard]] MiningRule rule() const { return {negatives_, margin_}; }
  [[nodiscard]] const MinedLists& mined_lists(const Context& context) const;
  [[nodiscard]] MinedRows mined_rows(const MinedLists& lists) const;
  [[nodiscard]] std::vector<std::int64_t> positions_of_mined() const;

  AnchorChoice anchors_ = AnchorChoice::with_replacement;
  NegativeSource negatives_ = NegativeSource::random_other_item;
  std::optional<std::int64_t> per_epoch_;
  std::int64_t multiple_of_ = 1;
  std::int64_t random_epochs_ = 0;
  double margin_ = 2;  // as in loss.triplet
  Ref<MinedNegatives> mined_;

  std::optional<TripletSampler> sampler_;
  MinedRows mined_rows_;
};

}  // namespace seam::stages
