#include "stages/sampling/pk.hpp"

#include <utility>

#include "stages/counted.hpp"

namespace seam::stages {

void Pk::declare(Declaration& declaration) {
  declaration.doc(
      "Collects the images of an epoch and emits them as batches of P items with K images of each, "
      "for losses that find positives and negatives within a batch (Hermans et al., 2017). The "
      "images of a batch share a `group`, so that `batch` with size P x K makes exactly these "
      "batches.\n\nPlace it between the data set and `image.decode`, so that it collects only the "
      "names of an epoch's images and not their pixels.");
  declaration.parameter("items", items_per_batch_, "P: number of distinct items per batch")
      .range(1, 1 << 20);
  declaration.parameter("images", images_per_item_, "K: number of images per item")
      .range(1, 1 << 20);
  declaration.parameter(
      "few_images", few_images_,
      "how to treat items with fewer than K images: repeat their images, or leave the items out",
      {{"repeat", FewImages::repeat}, {"skip", FewImages::skip}});
  declaration
      .parameter("categories", categories_per_batch_,
                 "C: number of categories from which a batch draws its items, P / C items of each, "
                 "so that negatives look similar; must divide P. 0: items of any category")
      .range(0, 1 << 20);
  declaration
      .parameter("per_epoch", per_epoch_,
                 "number of batches per epoch; default: the number of full batches of distinct "
                 "items, so that each item occurs once")
      .at_least(1);
  declaration.needs(field::item);
  declaration.accepts(field::category).doc("needed if `categories` is set");
  declaration.provides(field::group).doc("the batch's number in the epoch");
}

void Pk::open(Context& /*context*/) {
  if (categories_per_batch_ == 0 || items_per_batch_ % categories_per_batch_ == 0) return;
  throw Error("a batch of " + counted(items_per_batch_, "item") +
                  " cannot be divided evenly among " + std::to_string(categories_per_batch_) +
                  " categories; set 'categories' to a divisor of 'items'",
              Fault::configuration);
}

void Pk::begin(Context& /*context*/) {
  rows_.clear();
  items_.clear();
  categories_.clear();
  item_numbers_.clear();
  sampler_.reset();
  batch_.clear();
  sent_ = 0;
  next_ = 0;
  count_ = 0;
}

void Pk::process(Packet packet, Emitter& /*emitter*/, Context& /*context*/) {
  const auto next = static_cast<std::int64_t>(item_numbers_.size());
  items_.push_back(item_numbers_.try_emplace(packet.get(field::item), next).first->second);
  if (categories_per_batch_ > 0) {
    if (!packet.has(field::category) || packet.get(field::category) < 0) {
      throw Error("the image has no category, but batches are drawn from " +
                      counted(categories_per_batch_, "category", "categories") +
                      "; use a data set with categories, or leave 'categories' unset",
                  Fault::configuration);
    }
    categories_.push_back(packet.get(field::category));
  }
  rows_.push_back(std::move(packet));
}

void Pk::start(const Context& context) {
  sampler_.emplace(items_, items_per_batch_, images_per_item_, few_images_,
                   BatchCategories{categories_per_batch_, categories_});
  count_ = per_epoch_.value_or(sampler_->round());
  const std::int64_t few = sampler_->few_image_items();
  if (few > 0 && context.epoch() == 0) {
    const bool skipped = few_images_ == FewImages::skip;
    context.info(counted(few, "item") + (few == 1 ? " has" : " have") + " fewer than " +
                 counted(images_per_item_, "image") + ": " +
                 (skipped ? (few == 1 ? "it is left out" : "they are left out")
                          : (few == 1 ? "its images are repeated" : "their images are repeated")));
  }
}

More Pk::end(Emitter& emitter, Context& context) {
  if (!sampler_) {
    if (rows_.empty()) return More::no;  // a stopped flow
    start(context);
  }
  if (sent_ == batch_.size()) {
    batch_ = sampler_->draw(context.seed(), stream_of(context.stage()),
                            static_cast<std::uint64_t>(context.epoch()),
                            static_cast<std::uint64_t>(next_++));
    sent_ = 0;
  }
  for (std::int64_t image = 0; image < images_per_item_; ++image) {
    Packet packet = rows_[static_cast<std::size_t>(batch_[sent_++])];
    packet.set(field::group, next_ - 1);
    emitter.emit(std::move(packet));
  }
  return sent_ < batch_.size() || next_ < count_ ? More::yes : More::no;
}

}  // namespace seam::stages
