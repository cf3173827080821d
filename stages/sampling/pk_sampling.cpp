#include "stages/sampling/pk_sampling.hpp"

#include <algorithm>
#include <seam/error.hpp>
#include <seam/random.hpp>
#include <unordered_map>

#include "stages/counted.hpp"
#include "stages/sampling/permutation.hpp"

namespace seam::stages {

PkSampler::PkSampler(std::span<const std::int64_t> items, std::int64_t items_per_batch,
                     std::int64_t images_per_item, FewImages few, BatchCategories categories)
    : items_per_batch_(items_per_batch),
      images_per_item_(images_per_item),
      categories_per_batch_(categories.count) {
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
    throw Error("a batch needs " + std::to_string(items_per_batch) + " items, but only received " +
                counted(items.size(), "image") + " of " + counted(rows_of_item_.size(), "item") +
                (skipped ? ", of which " + std::to_string(few_image_items_) + " with fewer than " +
                               counted(images_per_item, "image") + " are skipped"
                         : "") +
                "; lower 'items', or check the split and the limit of the data set" +
                (skipped ? ", or set few_images = \"repeat\"" : ""));
  }
  if (categories.count == 0) return;
  std::unordered_map<std::int64_t, std::size_t> list_of;
  for (std::size_t drawn = 0; drawn < drawn_.size(); ++drawn) {
    const auto first_row = static_cast<std::size_t>(rows_of_item_[drawn_[drawn]].front());
    const std::int64_t category = categories.of_rows[first_row];
    const auto [known, fresh] = list_of.try_emplace(category, places_of_category_.size());
    if (fresh) places_of_category_.emplace_back();
    places_of_category_[known->second].push_back(drawn);
  }
  if (static_cast<std::int64_t>(places_of_category_.size()) < categories.count) {
    throw Error("batches need " + std::to_string(categories.count) +
                " categories, but the items are of " +
                counted(places_of_category_.size(), "category", "categories") +
                "; lower 'categories', or check the split and the limit of the data set");
  }
}

std::vector<std::size_t> PkSampler::places(const Random& key, std::uint64_t in_round) const {
  const Permutation order(drawn_.size(), key);
  const auto count = static_cast<std::uint64_t>(items_per_batch_);
  std::vector<std::size_t> places;
  for (std::uint64_t at = in_round * count; at < (in_round + 1) * count; ++at) {
    places.push_back(static_cast<std::size_t>(order(at)));
  }
  return places;
}

std::vector<std::size_t> PkSampler::places_by_category(Random key, std::uint64_t in_round) const {
  const auto cells_per_batch = static_cast<std::uint64_t>(categories_per_batch_);
  const std::uint64_t cell_size = static_cast<std::uint64_t>(items_per_batch_) / cells_per_batch;
  const std::uint64_t seed = key.bits64();
  const std::uint64_t stream = key.bits64();
  const std::size_t categories = places_of_category_.size();
  const Permutation category_order(categories, Random(seed, stream, 0));
  std::vector<std::uint64_t> ends;  // of the categories, in that order
  std::uint64_t end = 0;
  for (std::size_t at = 0; at < categories; ++at) {
    end += places_of_category_[static_cast<std::size_t>(category_order(at))].size();
    ends.push_back(end);
  }
  const Permutation cell_order(drawn_.size() / cell_size, Random(seed, stream, 1));
  std::vector<std::size_t> places;
  for (std::uint64_t cell = in_round * cells_per_batch; cell < (in_round + 1) * cells_per_batch;
       ++cell) {
    const std::uint64_t first = cell_order(cell) * cell_size;
    for (std::uint64_t at = first; at < first + cell_size; ++at) {
      const auto in_order = std::ranges::upper_bound(ends, at) - ends.begin();
      const auto category = static_cast<std::size_t>(category_order(in_order));
      const std::vector<std::size_t>& of_category = places_of_category_[category];
      const std::uint64_t begin = ends[static_cast<std::size_t>(in_order)] - of_category.size();
      const Permutation order(of_category.size(), Random(seed, stream, 2, category));
      places.push_back(of_category[static_cast<std::size_t>(order(at - begin))]);
    }
  }
  return places;
}

std::vector<std::int64_t> PkSampler::draw(std::uint64_t seed, std::uint64_t stream,
                                          std::uint64_t epoch, std::uint64_t number) const {
  const auto per_round = static_cast<std::uint64_t>(round());
  // After all numbers that single batches use.
  const Random key(seed, stream, epoch, ~(number / per_round));
  const auto wanted = static_cast<std::size_t>(images_per_item_);
  Random random(seed, stream, epoch, number);
  std::vector<std::int64_t> batch;
  batch.reserve(static_cast<std::size_t>(items_per_batch_) * wanted);
  for (const std::size_t place : categories_per_batch_ == 0
                                     ? places(key, number % per_round)
                                     : places_by_category(key, number % per_round)) {
    std::vector<std::int64_t> rows = rows_of_item_[drawn_[place]];
    random.shuffle(std::span(rows));
    // Too few images: repeats all of them, and the last time only the first ones of the shuffle.
    for (std::size_t image = 0; image < wanted; ++image) {
      batch.push_back(rows[image % rows.size()]);
    }
  }
  return batch;
}

}  // namespace seam::stages
