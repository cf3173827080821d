#include "stages/sampling/triplet_sampling.hpp"

#include <numeric>
#include <seam/error.hpp>
#include <seam/random.hpp>
#include <unordered_map>

#include "stages/counted.hpp"
#include "stages/sampling/permutation.hpp"

namespace seam::stages {

TripletSampler::TripletSampler(std::span<const std::int64_t> items, AnchorChoice anchors,
                               SingleImageItems single_images)
    : choice_(anchors) {
  std::unordered_map<std::int64_t, std::int64_t> dense;
  item_of_row_.reserve(items.size());
  for (const std::int64_t item : items) {
    const auto next = static_cast<std::int64_t>(dense.size());
    item_of_row_.push_back(dense.try_emplace(item, next).first->second);
  }
  if (dense.size() < 2) {
    throw Error("triplets need images of at least two items, but only received " +
                counted(items.size(), "image") + " of " + counted(dense.size(), "item") +
                "; check the split and the limit of the data set");
  }

  // Sorts rows by item with a counting sort.
  first_.assign(dense.size() + 1, 0);
  for (const std::int64_t item : item_of_row_) ++first_[static_cast<std::size_t>(item) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  rows_of_item_.resize(items.size());
  std::vector<std::int64_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t row = 0; row < items.size(); ++row) {
    const auto item = static_cast<std::size_t>(item_of_row_[row]);
    rows_of_item_[static_cast<std::size_t>(next[item]++)] = static_cast<std::int64_t>(row);
  }

  for (std::size_t row = 0; row < items.size(); ++row) {
    const auto item = static_cast<std::size_t>(item_of_row_[row]);
    const bool single = first_[item + 1] - first_[item] == 1;
    if (single) ++single_image_items_;
    if (!single || single_images == SingleImageItems::pair_with_itself) {
      anchors_.push_back(static_cast<std::int64_t>(row));
    }
  }
  if (anchors_.empty()) {
    throw Error(
        "no item has two images, so there is no positive; keep single-image items, or use a "
        "different data set");
  }
}

std::int64_t TripletSampler::anchor_of(std::uint64_t seed, std::uint64_t stream,
                                       std::uint64_t epoch, std::uint64_t number) const {
  const std::uint64_t count = anchors_.size();
  const std::uint64_t round = number / count;
  // After all numbers that single triplets use.
  const Random key(seed, stream, epoch, ~round);
  const Permutation order(count, key);
  return anchors_[static_cast<std::size_t>(order(number % count))];
}

DrawnTriplet TripletSampler::draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch,
                                  std::uint64_t number) const {
  Random random(seed, stream, epoch, number);
  DrawnTriplet triplet;
  triplet.anchor = choice_ == AnchorChoice::with_replacement
                       ? anchors_[static_cast<std::size_t>(random.index(anchors_.size()))]
                       : anchor_of(seed, stream, epoch, number);

  const auto item =
      static_cast<std::size_t>(item_of_row_[static_cast<std::size_t>(triplet.anchor)]);
  const auto begin = static_cast<std::size_t>(first_[item]);
  const auto images = static_cast<std::uint64_t>(first_[item + 1] - first_[item]);
  triplet.positive = triplet.anchor;
  if (images > 1) {
    // One of the others: the last image replaces the anchor.
    triplet.positive = rows_of_item_[begin + static_cast<std::size_t>(random.index(images - 1))];
    if (triplet.positive == triplet.anchor) {
      triplet.positive = rows_of_item_[begin + static_cast<std::size_t>(images - 1)];
    }
  }
  // The same distribution as rejection sampling, in one draw: rows are sorted by item, so the
  // others are those before and after.
  auto other = static_cast<std::size_t>(random.index(rows_of_item_.size() - images));
  if (other >= begin) other += static_cast<std::size_t>(images);
  triplet.negative = rows_of_item_[other];
  return triplet;
}

}  // namespace seam::stages
