#include "stages/sampling/pk.hpp"

#include <algorithm>
#include <unordered_map>

#include "stages/counted.hpp"
#include "stages/sampling/base/permutation.hpp"

namespace seam::stages {

void Pk::declare(Declaration& d) {
  d.doc(
      "Collects the images of an epoch and emits them as batches of P items with K images of each, "
      "for losses that find positives and negatives within a batch (Hermans et al., 2017). The "
      "images of a batch share a `group`, so that `batch` with size P x K makes exactly these "
      "batches.\n\nPlace it between the data set and `image.decode`, so that it collects only the "
      "names of an epoch's images and not their pixels.");
  d.parameter("items", items_per_batch_, "P: number of distinct items per batch").range(1, 1 << 20);
  d.parameter("images", images_per_item_,
              "K: number of images per item; those of items with fewer images are repeated")
      .range(1, 1 << 20);
  d.parameter("categories", categories_per_batch_,
              "C: number of categories from which a batch draws its items, P / C items of each, so "
              "that negatives look similar; must divide P. 0: items of any category")
      .range(0, 1 << 20);
  d.parameter("per_epoch", per_epoch_,
              "number of batches per epoch; default: the number of full batches of distinct items, "
              "so that each item occurs once")
      .at_least(1);
  d.needs(field::item);
  d.accepts(field::category).doc("needed if `categories` is set");
  d.provides(field::group).doc("the batch's number in the epoch");
}

void Pk::open(Context& /*context*/) {
  if (categories_per_batch_ == 0 || items_per_batch_ % categories_per_batch_ == 0) return;
  throw Error("a batch of " + counted(items_per_batch_, "item") +
                  " cannot be divided evenly among " + std::to_string(categories_per_batch_) +
                  " categories; set 'categories' to a divisor of 'items'",
              Fault::configuration);
}

void Pk::begin(Context& context) {
  EpochSampler::begin(context);
  categories_.clear();
}

void Pk::process(Packet packet, Emitter& emitter, Context& context) {
  if (categories_per_batch_ > 0) {
    if (!packet.has(field::category) || packet.get(field::category) < 0) {
      throw Error("the image has no category, but batches are drawn from " +
                      counted(categories_per_batch_, "category", "categories") +
                      "; use a data set with categories, or leave 'categories' unset",
                  Fault::configuration);
    }
    categories_.push_back(packet.get(field::category));
  }
  EpochSampler::process(std::move(packet), emitter, context);
}

std::int64_t Pk::start(const Context& context) {
  sampler_.emplace(items(), items_per_batch_, images_per_item_,
                   BatchCategories{categories_per_batch_, categories_});
  const std::int64_t few = sampler_->few_image_items();
  if (few > 0 && context.epoch() == 0) {
    context.info(counted(few, "item") + (few == 1 ? " has" : " have") + " fewer than " +
                 counted(images_per_item_, "image") + ": " +
                 (few == 1 ? "its images are repeated" : "their images are repeated"));
  }
  return per_epoch_.value_or(sampler_->round());
}

std::vector<Packet> Pk::group(std::int64_t number, const Context& context) {
  std::vector<Packet> batch;
  for (const std::int64_t drawn : sampler_->draw(context.seed(), stream_of(context.stage()),
                                                 static_cast<std::uint64_t>(context.epoch()),
                                                 static_cast<std::uint64_t>(number))) {
    batch.push_back(row(drawn));
  }
  return batch;
}

PkSampler::PkSampler(std::span<const std::int64_t> items, std::int64_t items_per_batch,
                     std::int64_t images_per_item, BatchCategories categories)
    : items_per_batch_(items_per_batch),
      images_per_item_(images_per_item),
      categories_per_batch_(categories.count),
      index_(items) {
  for (std::size_t item = 0; item < index_.items(); ++item) {
    if (std::ssize(index_.rows_of(item)) < images_per_item) ++few_image_items_;
  }
  if (static_cast<std::int64_t>(index_.items()) < items_per_batch) {
    throw Error("a batch needs " + std::to_string(items_per_batch) + " items, but only received " +
                counted(items.size(), "image") + " of " + counted(index_.items(), "item") +
                "; lower 'items', or check the split and the limit of the data set");
  }
  if (categories.count == 0) return;
  std::unordered_map<std::int64_t, std::size_t> list_of;
  for (std::size_t item = 0; item < index_.items(); ++item) {
    const auto first_row = static_cast<std::size_t>(index_.rows_of(item).front());
    const std::int64_t category = categories.of_rows[first_row];
    const auto [known, fresh] = list_of.try_emplace(category, items_of_category_.size());
    if (fresh) items_of_category_.emplace_back();
    items_of_category_[known->second].push_back(item);
  }
  if (static_cast<std::int64_t>(items_of_category_.size()) < categories.count) {
    throw Error("batches need " + std::to_string(categories.count) +
                " categories, but the items are of " +
                counted(items_of_category_.size(), "category", "categories") +
                "; lower 'categories', or check the split and the limit of the data set");
  }
}

std::vector<std::size_t> PkSampler::items_of(const Random& key, std::uint64_t in_round) const {
  const Permutation order(index_.items(), key);
  const auto count = static_cast<std::uint64_t>(items_per_batch_);
  std::vector<std::size_t> items;
  for (std::uint64_t at = in_round * count; at < (in_round + 1) * count; ++at) {
    items.push_back(static_cast<std::size_t>(order(at)));
  }
  return items;
}

std::vector<std::size_t> PkSampler::items_by_category(Random key, std::uint64_t in_round) const {
  const auto cells_per_batch = static_cast<std::uint64_t>(categories_per_batch_);
  const std::uint64_t cell_size = static_cast<std::uint64_t>(items_per_batch_) / cells_per_batch;
  const std::uint64_t seed = key.bits64();
  const std::uint64_t stream = key.bits64();
  const std::size_t categories = items_of_category_.size();
  const Permutation category_order(categories, Random(seed, stream, 0));
  std::vector<std::uint64_t> ends;  // of the categories, in that order
  std::uint64_t end = 0;
  for (std::size_t at = 0; at < categories; ++at) {
    end += items_of_category_[static_cast<std::size_t>(category_order(at))].size();
    ends.push_back(end);
  }
  const Permutation cell_order(index_.items() / cell_size, Random(seed, stream, 1));
  std::vector<std::size_t> items;
  for (std::uint64_t cell = in_round * cells_per_batch; cell < (in_round + 1) * cells_per_batch;
       ++cell) {
    const std::uint64_t first = cell_order(cell) * cell_size;
    for (std::uint64_t at = first; at < first + cell_size; ++at) {
      const auto in_order = std::ranges::upper_bound(ends, at) - ends.begin();
      const auto category = static_cast<std::size_t>(category_order(in_order));
      const std::vector<std::size_t>& of_category = items_of_category_[category];
      const std::uint64_t begin = ends[static_cast<std::size_t>(in_order)] - of_category.size();
      const Permutation order(of_category.size(), Random(seed, stream, 2, category));
      items.push_back(of_category[static_cast<std::size_t>(order(at - begin))]);
    }
  }
  return items;
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
  for (const std::size_t item : categories_per_batch_ == 0
                                    ? items_of(key, number % per_round)
                                    : items_by_category(key, number % per_round)) {
    const std::span<const std::int64_t> all = index_.rows_of(item);
    std::vector<std::int64_t> rows(all.begin(), all.end());
    random.shuffle(std::span(rows));
    // Too few images: repeats all of them, and the last time only the first ones of the shuffle.
    for (std::size_t image = 0; image < wanted; ++image) {
      batch.push_back(rows[image % rows.size()]);
    }
  }
  return batch;
}

}  // namespace seam::stages
