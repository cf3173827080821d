#include "stages/retrieval/search.hpp"

#include <algorithm>

#include "stages/retrieval/index.hpp"

namespace seam::stages {

void Search::declare(Declaration& d) {
  d.doc(
      "Finds the nearest gallery images of every query: exact, and the same for any batch size and "
      "any number of threads.");
  d.reference("index", gallery_, "the `retrieval.index` stage whose gallery is searched");
  declare_masks(d, masks_);
  d.parameter("k", depth_.k, "how many neighbours to find").range(1, 100000);
  d.parameter(
      "exclude_self", exclude_self_,
      "leave-one-out: queries and gallery are the same list, and no image finds itself. It is "
      "known by its index, since a duplicate may be as near");
  d.needs(field::items);
  d.needs(field::indices);
  d.needs(field::origins);
  d.provides(field::rankings);
  d.offers<SearchDepth>(depth_);
}

void Search::open(Context& /*context*/) {
  check_masks(masks_);
  const std::vector<Mask>& indexed = gallery_->expected();
  for (const Mask mask : masks_) {
    if (!indexed.empty() && std::ranges::find(indexed, mask) == indexed.end()) {
      throw Error("the gallery is not indexed under mask '" + to_string(mask) +
                      "'; give its retrieval.index the same `masks`",
                  Fault::configuration);
    }
  }
}

void Search::begin(Context& context) {
  unknown_items_.clear();
  if (!gallery_->built()) {
    throw Error(
        "the gallery has no images yet; the schedule must run the flow that fills it before "
        "the flow that searches it",
        Fault::configuration);
  }
  trainings_since_gallery_ = context.trainings() - gallery_->trainings();
  if (trainings_since_gallery_ > 0) {
    context.warn("the gallery was embedded before the last " +
                 (trainings_since_gallery_ == 1
                      ? std::string("training")
                      : std::to_string(trainings_since_gallery_) + " trainings") +
                 ", the queries after: let the schedule run the gallery's flow between");
  }
}

std::int64_t Search::number_of(const std::string& item) {
  if (const auto known = gallery_->item_number(item)) return *known;
  const auto next = -2 - static_cast<std::int64_t>(unknown_items_.size());
  return unknown_items_.try_emplace(item, next).first->second;
}

std::int64_t Search::row_of_itself(std::int64_t id, const std::string& item,
                                   const Origin& origin) const {
  if (id < 0) {
    throw Error("exclude_self knows images by their 'index', which the data set of " +
                    origin.text() + " does not provide",
                Fault::configuration);
  }
  const auto row = gallery_->row_of_id(id);
  if (!row) return -1;
  const GalleryRow& found = gallery_->rows()[static_cast<std::size_t>(*row)];
  if (found.item != item) {
    throw Error("with exclude_self, queries and gallery must be of one list, but index " +
                    std::to_string(id) + " is item '" + item + "' of " + origin.text() +
                    " among the queries and item '" + found.item + "' of " + found.origin.text() +
                    " in the gallery",
                Fault::configuration);
  }
  return *row;
}

void Search::process(Packet& packet, Context& /*context*/) {
  const Packet& query = packet;
  const auto& items = query[field::items];
  const auto& indices = query[field::indices];
  const auto& origins = query[field::origins];
  Rankings rankings;
  rankings.gallery_images = gallery_->size();
  rankings.gallery_items = gallery_->items();
  rankings.self_excluded = exclude_self_;
  rankings.trainings_since_gallery = trainings_since_gallery_;
  std::vector<std::int64_t> excluded;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::int64_t number = number_of(items[i]);
    std::int64_t relevant = number >= 0 ? gallery_->images_of(number) : 0;
    if (exclude_self_) {
      excluded.push_back(row_of_itself(indices[i], items[i], origins[i]));
      relevant -= excluded.back() >= 0 ? 1 : 0;
    }
    rankings.item.push_back(number);
    rankings.relevant.push_back(relevant);
  }

  SearchOptions options;
  options.k = depth_.k;
  options.excluded_row = excluded;
  options.query_item = rankings.item;
  options.gallery_item = gallery_->item_of_row();
  const NameOfRow name_of_row = [&](std::int64_t row) {
    return origins[static_cast<std::size_t>(row)].text();
  };
  for (const Mask mask : masks_) {
    const ExactIndex& index = gallery_->index(mask);
    Ranking ranking{
        mask, index.metric(), index.search(embedding_under(mask, query), options, name_of_row), {}};
    for (const std::int64_t row : ranking.neighbours.rows) {
      ranking.items.push_back(row < 0 ? -1 : gallery_->item_of_row()[row]);
    }
    rankings.by_mask.push_back(std::move(ranking));
  }
  packet.set(field::rankings, std::move(rankings));
}

}  // namespace seam::stages
