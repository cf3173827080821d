#include "stages/sampling/triplets.hpp"

#include <array>
#include <utility>

#include "stages/counted.hpp"

namespace seam::stages {

void Triplets::declare(Declaration& declaration) {
  declaration.doc(
      "Gathers the images of an epoch and sends them on as triplets: for each, an anchor, another "
      "image of its item (positive) and an image of another item (negative), three packets that "
      "share a `group`.\n\nStands behind a data set and in front of `image.decode`, so that an "
      "epoch's names are gathered, not its pixels.");
  declaration.parameter("anchors", anchors_,
                        "where anchors come from: uniformly drawn, as in the released SCCapsNet "
                        "code, or every image once in a new order each epoch",
                        {{"with_replacement", AnchorChoice::with_replacement},
                         {"each_image_once", AnchorChoice::each_image_once}});
  declaration.parameter(
      "single_image_items", single_images_,
      "what becomes of items with one image: anchor and positive are the same "
      "image, or they are negatives only",
      {{"pair_with_itself", SingleImageItems::pair_with_itself}, {"skip", SingleImageItems::skip}});
  declaration.parameter("negatives", negatives_, "uniform over the images of all other items",
                        {{"random_other_item", Negatives::random_other_item}});
  declaration
      .parameter("per_epoch", per_epoch_,
                 "triplets an epoch; as many as there are anchors if unset")
      .at_least(1);
  declaration
      .parameter("multiple_of", multiple_of_,
                 "the number of triplets is rounded up to a multiple of this: with that of a "
                 "batch, every batch is full")
      .at_least(1);
  declaration.needs(field::item);
  declaration.provides(field::group).doc("the triplet's number in the epoch");
  declaration.provides(field::role).doc("anchor, positive or negative");
}

void Triplets::begin(Context& /*context*/) {
  rows_.clear();
  items_.clear();
  item_numbers_.clear();
  sampler_.reset();
  next_ = 0;
  count_ = 0;
}

void Triplets::process(Packet packet, Emitter& /*emitter*/, Context& /*context*/) {
  const auto next = static_cast<std::int64_t>(item_numbers_.size());
  items_.push_back(item_numbers_.try_emplace(packet.get(field::item), next).first->second);
  rows_.push_back(std::move(packet));
}

void Triplets::start(const Context& context) {
  sampler_.emplace(items_, anchors_, single_images_);
  count_ = per_epoch_.value_or(sampler_->anchors());
  count_ = (count_ + multiple_of_ - 1) / multiple_of_ * multiple_of_;
  if (sampler_->single_image_items() > 0 && context.epoch() == 0) {
    const bool one = sampler_->single_image_items() == 1;
    const bool skipped = single_images_ == SingleImageItems::skip;
    context.info(counted(sampler_->single_image_items(), "item") +
                 (one ? " has one image, so " : " have one image each, so ") +
                 (skipped ? (one ? "it is a negative only" : "they are negatives only")
                          : (one ? "its positive is the anchor itself"
                                 : "their positives are the anchors themselves")));
  }
}

More Triplets::end(Emitter& emitter, Context& context) {
  if (!sampler_) {
    if (rows_.empty()) return More::no;  // a stopped flow
    start(context);
  }
  const Triplet triplet = sampler_->draw(context.seed(), stream_of(context.stage()),
                                         static_cast<std::uint64_t>(context.epoch()),
                                         static_cast<std::uint64_t>(next_));
  const std::array<std::pair<std::int64_t, Role>, 3> parts{{{triplet.anchor, Role::anchor},
                                                            {triplet.positive, Role::positive},
                                                            {triplet.negative, Role::negative}}};
  for (const auto& [row, role] : parts) {
    Packet packet = rows_[static_cast<std::size_t>(row)];
    packet.set(field::group, next_);
    packet.set(field::role, role);
    emitter.emit(std::move(packet));
  }
  return ++next_ < count_ ? More::yes : More::no;
}

}  // namespace seam::stages
