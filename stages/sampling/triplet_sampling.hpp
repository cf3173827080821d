/// Draws triplets for training with a triplet loss:
///
///     anchor      an image
///     positive    another image of the same item
///     negative    an image of any other item (random_other_item)
///
/// A triplet depends only on (seed, stream, epoch, its number), so that any part of an epoch can be
/// drawn at any time, by any thread, without memory except the item lists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

/// How to treat items with one image, whose only positive is that image.
enum class SingleImageItems : std::uint8_t {
  pair_with_itself,  ///< anchor and positive are the same image, as in the released code
  skip,              ///< such images are never anchors; they stay negatives
};

class TripletSampler {
 public:
  /// `items[row]` is the item of a row, an arbitrary number. Throws seam::Error if there are fewer
  /// than two items, or if every item has one image and those are skipped.
  TripletSampler(std::span<const std::int64_t> items, AnchorChoice anchors,
                 SingleImageItems single_images);

  /// Triplet `number` (from 0) of an epoch. The positive is uniform over the item's other images,
  /// the negative uniform over all images of other items (the released code achieves this by
  /// redrawing while it hits the same item).
  [[nodiscard]] DrawnTriplet draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch,
                                  std::uint64_t number) const;

  /// The number of images that may be anchors: the length of an epoch that uses each once.
  [[nodiscard]] std::int64_t anchors() const { return static_cast<std::int64_t>(anchors_.size()); }
  /// The number of items with one image.
  [[nodiscard]] std::int64_t single_image_items() const { return single_image_items_; }

 private:
  [[nodiscard]] std::int64_t anchor_of(std::uint64_t seed, std::uint64_t stream,
                                       std::uint64_t epoch, std::uint64_t number) const;

  AnchorChoice choice_;
  std::vector<std::int64_t> item_of_row_;   // dense item numbers
  std::vector<std::int64_t> rows_of_item_;  // rows, item by item
  std::vector<std::int64_t> first_;         // the start of each item's rows; one more than items
  std::vector<std::int64_t> anchors_;
  std::int64_t single_image_items_ = 0;
};

}  // namespace seam::stages
