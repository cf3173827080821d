#include "stages/sampling/triplets.hpp"

#include <algorithm>
#include <iterator>

#include "stages/counted.hpp"
#include "stages/sampling/base/permutation.hpp"

namespace seam::stages {

void Triplets::declare(Declaration& d) {
  d.doc(
      "Collects the images of an epoch and emits them as triplets of an anchor, another image of "
      "its item (positive) and an image of a different item (negative): three packets that share a "
      "`group`.\n\nPlace it between the data set and `image.decode`, so that it collects only the "
      "names of an epoch's images and not their pixels.");
  d.parameter("anchors", anchors_,
              "source of the anchors: drawn uniformly, as in the released SCCapsNet code, or every "
              "image once, in a new order in each epoch",
              {{"with_replacement", AnchorChoice::with_replacement},
               {"each_image_once", AnchorChoice::each_image_once}});
  d.parameter("negatives", negatives_,
              "the negative, an image of a different item: any, drawn uniformly (released code); "
              "the closest of a different category (thesis); the closest of the same category; or "
              "the closest that is farther than the positive",
              {{"random_other_item", NegativeSource::random_other_item},
               {"hardest_other_category", NegativeSource::hardest_other_category},
               {"hardest_same_category", NegativeSource::hardest_same_category},
               {"semi_hard", NegativeSource::semi_hard}});
  d.reference("mined", mined_,
              "the `sampling.mined` stage that finds the negatives; needed unless negatives = "
              "\"random_other_item\"")
      .optional();
  d.parameter("margin", margin_,
              "how much the squared distance of the negative may exceed that of the positive")
      .range(1e-6, 1e6)
      .only_with("negatives", "semi_hard");
  d.parameter("random_epochs", random_epochs_,
              "number of initial epochs that use random_other_item, whatever `negatives` is")
      .at_least(0)
      .only_with("negatives", std::vector<std::string>{"hardest_other_category",
                                                       "hardest_same_category", "semi_hard"});
  d.parameter("per_epoch", per_epoch_,
              "number of triplets per epoch; default: the number of images")
      .at_least(1);
  d.parameter("multiple_of", multiple_of_,
              "round the number of triplets up to a multiple of this; with the number of triplets "
              "per batch, every batch is full")
      .at_least(1);
  d.needs(field::item);
  if (negatives_ != NegativeSource::random_other_item) {
    d.needs(field::index).doc("by which `mined` identifies the image");
  }
  d.provides(field::group).doc("the triplet's number in the epoch");
  d.provides(field::group_size).doc("3");
  d.provides(field::role).values({"anchor", "positive", "negative"});
}

void Triplets::open(Context& /*context*/) {
  const std::string chosen = "`negatives = \"" + std::string(to_string(negatives_)) + "\"`";
  const bool mines = negatives_ != NegativeSource::random_other_item;
  if (mined_.bound() && !mines) {
    throw Error("`mined` has no effect with " + chosen +
                    "; remove it, or choose a different value of `negatives`",
                Fault::configuration);
  }
  if (!mines) return;
  if (!mined_) {
    throw Error(chosen +
                    " needs `mined`: the name of a sampling.mined stage, at the end of a flow that "
                    "embeds the same images",
                Fault::configuration);
  }
  mined_->want(rule());
}

bool Triplets::mines_in(const Context& context) const {
  return negatives_ != NegativeSource::random_other_item && context.epoch() >= random_epochs_;
}

const MinedLists& Triplets::mined_lists(const Context& context) const {
  const MinedLists* lists = mined_->lists(rule());
  if (lists != nullptr) return *lists;
  throw Error("no negatives have been mined yet for `negatives = \"" +
                  std::string(to_string(negatives_)) +
                  "\"`; the schedule must run the flow with the stage of `mined` before flow '" +
                  std::string(context.flow()) +
                  "': earlier in each_epoch of [schedule], once in `before`, or in a later epoch "
                  "with `random_epochs` until then",
              Fault::configuration);
}

void Triplets::begin(Context& context) {
  if (mines_in(context)) static_cast<void>(mined_lists(context));  // before any image is read
  mined_rows_ = {};
  EpochSampler::begin(context);
}

/// The row of this flow for each mined image; throws seam::Error if the images differ.
std::vector<std::int64_t> Triplets::positions_of_mined() const {
  const std::string same =
      "; the mining flow must embed exactly the images that this stage receives, each once: use "
      "the same data set stage for both, and remove images that cannot be decoded from its list";
  const std::span<const MinedImage> images = mined_->images();
  std::vector<std::int64_t> row_of_image(images.size(), -1);
  for (std::size_t row = 0; row < rows().size(); ++row) {
    const Packet& packet = rows()[row];
    const std::int64_t index = packet.get(field::index);
    const auto found = std::ranges::lower_bound(images, index, {}, &MinedImage::index);
    const std::string shown = packet.origin().text() + " (index " + std::to_string(index) + ")";
    if (found == images.end() || found->index != index) {
      throw Error(shown + " was not embedded for mining" + same, Fault::configuration);
    }
    if (found->item != packet.get(field::item) || found->name != packet.origin().item) {
      throw Error(shown + " shows item '" + packet.get(field::item) + "', but index " +
                      std::to_string(index) + " was mined as '" + found->name + "' of item '" +
                      found->item + "'" + same,
                  Fault::configuration);
    }
    std::int64_t& place = row_of_image[static_cast<std::size_t>(found - images.begin())];
    if (place >= 0) {
      throw Error(shown + " was received twice" + same, Fault::configuration);
    }
    place = static_cast<std::int64_t>(row);
  }
  const auto missing = std::ranges::find(row_of_image, -1);
  if (missing != row_of_image.end()) {
    const MinedImage& image = images[static_cast<std::size_t>(missing - row_of_image.begin())];
    throw Error("'" + image.name + "' (index " + std::to_string(image.index) +
                    ") was embedded for mining, but not received here" + same,
                Fault::configuration);
  }
  return row_of_image;
}

Triplets::MinedRows Triplets::mined_rows(const MinedLists& lists) const {
  const std::vector<std::int64_t> row_of_image = positions_of_mined();
  MinedRows result;
  const auto in_rows = [&](const std::vector<std::int64_t>& mined, std::vector<std::int64_t>& to) {
    if (mined.empty()) return;
    to.resize(rows().size());
    for (std::size_t image = 0; image < mined.size(); ++image) {
      to[static_cast<std::size_t>(row_of_image[image])] =
          row_of_image[static_cast<std::size_t>(mined[image])];
    }
  };
  in_rows(lists.negatives, result.negatives);
  in_rows(lists.positives, result.positives);
  return result;
}

std::int64_t Triplets::start(const Context& context) {
  sampler_.emplace(items(), anchors_);
  if (mines_in(context)) mined_rows_ = mined_rows(mined_lists(context));
  if (sampler_->single_image_items() > 0 && context.epoch() == 0) {
    const bool one = sampler_->single_image_items() == 1;
    context.info(counted(sampler_->single_image_items(), "item") +
                 (one ? " has one image, so its positive is the anchor itself"
                      : " have one image each, so their positives are the anchors themselves"));
  }
  const std::int64_t wanted = per_epoch_.value_or(std::ssize(items()));
  return (wanted + multiple_of_ - 1) / multiple_of_ * multiple_of_;
}

std::vector<Packet> Triplets::group(std::int64_t number, const Context& context) {
  DrawnTriplet triplet = sampler_->draw(context.seed(), stream_of(context.stage()),
                                        static_cast<std::uint64_t>(context.epoch()),
                                        static_cast<std::uint64_t>(number));
  const auto anchor = static_cast<std::size_t>(triplet.anchor);
  if (!mined_rows_.negatives.empty()) triplet.negative = mined_rows_.negatives[anchor];
  if (!mined_rows_.positives.empty()) triplet.positive = mined_rows_.positives[anchor];
  std::vector<Packet> packets{row(triplet.anchor), row(triplet.positive), row(triplet.negative)};
  packets[0].set(field::role, Role::anchor);
  packets[1].set(field::role, Role::positive);
  packets[2].set(field::role, Role::negative);
  for (Packet& packet : packets) packet.set(field::group_size, std::int64_t{3});
  return packets;
}

TripletSampler::TripletSampler(std::span<const std::int64_t> items, AnchorChoice anchors)
    : choice_(anchors), index_(items) {
  if (index_.items() < 2) {
    throw Error("triplets need images of at least two items, but only received " +
                counted(items.size(), "image") + " of " + counted(index_.items(), "item") +
                "; check the split and the limit of the data set");
  }
  for (std::size_t item = 0; item < index_.items(); ++item) {
    if (index_.rows_of(item).size() == 1) ++single_image_items_;
  }
}

std::int64_t TripletSampler::anchor_of(std::uint64_t seed, std::uint64_t stream,
                                       std::uint64_t epoch, std::uint64_t number) const {
  const std::uint64_t count = index_.rows();
  const std::uint64_t round = number / count;
  // After all numbers that single triplets use.
  const Random key(seed, stream, epoch, ~round);
  const Permutation order(count, key);
  return static_cast<std::int64_t>(order(number % count));
}

DrawnTriplet TripletSampler::draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch,
                                  std::uint64_t number) const {
  Random random(seed, stream, epoch, number);
  DrawnTriplet triplet;
  triplet.anchor = choice_ == AnchorChoice::with_replacement
                       ? static_cast<std::int64_t>(random.index(index_.rows()))
                       : anchor_of(seed, stream, epoch, number);
  const bool single = index_.rows_of(index_.item_of(triplet.anchor)).size() == 1;
  triplet.positive = single ? triplet.anchor : index_.other_of_item(triplet.anchor, random);
  triplet.negative = index_.of_other_item(triplet.anchor, random);
  return triplet;
}

}  // namespace seam::stages
