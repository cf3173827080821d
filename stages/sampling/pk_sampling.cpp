#include "stages/sampling/pk_sampling.hpp"

#include <algorithm>
#include <seam/error.hpp>
#include <seam/random.hpp>
#include <unordered_map>

#include "stages/counted.hpp"
#include "stages/sampling/permutation.hpp"

namespace seam::stages {

PkSampler::PkSampler(std::span<const std::int64_t> items, std::int64_t items_per_batch,
                     std::int64_t images_per_item, FewImages few)
    : items_per_batch_(items_per_batch), images_per_item_(images_per_item) {
  std::unordered_map<std::int64_t, std::size_t> place;
  for (std::size_t row = 0; row < items.size(); ++row) {
    const auto [known, fresh] = place.try_emplace(items[row], rows_of_item_.size());
    if (fresh) rows_of_item_.emplace_back();
    rows_of_item_[known->second].push_back(static_cast<std::int64_t>(row));
  }
  for (std::size_t item = 0; item < rows_of_item_.size(); ++item) {
    const bool has_few = static_cast<std::int64_t>(rows_of_item_[item].size()) < images_per_item;
    if (has_few) ++few_image_items_;
    if (!has_few || few == FewImages::repeat) drawn_.push_back(item);
  }
  if (static_cast<std::int64_t>(drawn_.size()) < items_per_batch) {
    const bool skipped = few == FewImages::skip && few_image_items_ > 0;
    throw Error("a batch needs " + std::to_string(items_per_batch) + " items, but " +
                counted(items.size(), "image") + " of " + counted(rows_of_item_.size(), "item") +
                " arrived" +
                (skipped ? ", of which " + std::to_string(few_image_items_) + " with fewer than " +
                               counted(images_per_item, "image") + " are skipped"
                         : "") +
                "; lower 'items', or check the split and the limit of the data set" +
                (skipped ? ", or set few_images = \"repeat\"" : ""));
  }
}

std::vector<std::int64_t> PkSampler::draw(std::uint64_t seed, std::uint64_t stream,
                                          std::uint64_t epoch, std::uint64_t number) const {
  const auto per_round = static_cast<std::uint64_t>(round());
  // Behind all numbers that single batches use.
  const Permutation order(drawn_.size(), Random(seed, stream, epoch, ~(number / per_round)));
  const auto wanted = static_cast<std::size_t>(images_per_item_);
  const auto first = (number % per_round) * static_cast<std::uint64_t>(items_per_batch_);
  Random random(seed, stream, epoch, number);
  std::vector<std::int64_t> batch;
  batch.reserve(static_cast<std::size_t>(items_per_batch_) * wanted);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(items_per_batch_); ++i) {
    const std::size_t item = drawn_[static_cast<std::size_t>(order(first + i))];
    std::vector<std::int64_t> rows = rows_of_item_[item];
    random.shuffle(std::span(rows));
    // Few images: all of them, again and again, the last time those that the shuffle put in front.
    for (std::size_t image = 0; image < wanted; ++image) {
      batch.push_back(rows[image % rows.size()]);
    }
  }
  return batch;
}

}  // namespace seam::stages
