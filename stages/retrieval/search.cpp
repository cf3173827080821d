#include "stages/retrieval/search.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "stages/retrieval/compared_batch.hpp"

namespace seam::stages {

using retrieval::Mask;
using retrieval::Ranking;
using retrieval::Rankings;

void Search::declare(Declaration& d) {
  d.doc(
      "Finds the nearest gallery images of every query: exact, and the same for any batch size and "
      "any number of threads. Embeddings with NaN or infinite elements, and those longer than "
      "1e15, "
      "are refused, and where the gallery is compared by cosine, also those shorter than 1e-12, "
      "which have no direction: zero can be compared by squared_euclidean only.");
  d.reference("index", gallery_, "the `retrieval.index` stage whose gallery is searched");
  declare_masks(d, masks_);
  d.parameter("k", k_, "how many neighbours to find").range(1, 100000);
  d.parameter(
      "exclude_self", exclude_self_,
      "leave-one-out: queries and gallery are the same list, and no image finds itself. It is "
      "known by its index, since a duplicate may be as near");
  d.needs(field::items);
  d.needs(field::indices);
  d.needs(field::origins);
  d.provides(field::rankings).contract("*[N," + std::to_string(k_) + "]");
}

void Search::open(Context& /*context*/) {
  check_masks(masks_);
  const std::vector<Mask> indexed = gallery_->masks();
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
  told_of_itself_ = false;
  if (!gallery_->ready()) {
    throw Error(
        "the gallery has no images yet; the schedule must run the flow that fills it before "
        "the flow that searches it",
        Fault::configuration);
  }
  items_ = GalleryItems(gallery_->rows());
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
  if (const auto known = items_.number_of(item)) return *known;
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
  const auto row = items_.row_of_id(id);
  if (!row) return -1;
  const retrieval::GalleryRow& found = gallery_->rows()[static_cast<std::size_t>(*row)];
  // An index counts within a split: row 3 of another split may show the same item.
  if (found.item != item || found.origin.item != origin.item) {
    throw Error("with exclude_self, queries and gallery must be of one list, but index " +
                    std::to_string(id) + " is item '" + item + "' of " + origin.text() +
                    " among the queries and item '" + found.item + "' of " + found.origin.text() +
                    " in the gallery",
                Fault::configuration);
  }
  return *row;
}

bool Search::is_in_gallery(std::int64_t id, const Origin& origin) const {
  if (id < 0) return false;
  const auto row = items_.row_of_id(id);
  return row && gallery_->rows()[static_cast<std::size_t>(*row)].origin == origin;
}

Ranking Search::ranking_under(Mask mask, const Packet& query,
                              const std::vector<std::int64_t>& items,
                              const std::vector<std::int64_t>& excluded) const {
  retrieval::SearchRequest request;
  request.mask = mask;
  request.k = k_;
  request.excluded_row = excluded;
  request.query_item = items;
  request.gallery_item = items_.of_rows();
  request.name_of_query = [&](std::int64_t row) {
    return query[field::origins][static_cast<std::size_t>(row)].text();
  };
  Ranking ranking{
      mask, gallery_->metric(mask), gallery_->search(embedding_under(mask, query), request), {}};
  const std::span<const std::int64_t> shown = items_.of_rows();
  const auto images = static_cast<std::int64_t>(shown.size());
  for (const std::int64_t row : ranking.neighbours.rows) {
    if (row >= images) {
      throw Error("the gallery found row " + std::to_string(row) + " of its " +
                      std::to_string(images) + " rows",
                  Fault::internal);
    }
    ranking.items.push_back(row < 0 ? -1 : shown[static_cast<std::size_t>(row)]);
  }
  return ranking;
}

void Search::process(Packet& packet, Context& context) {
  const Packet& query = packet;
  const auto count = static_cast<std::size_t>(images_in(query, masks_));
  const auto& items = query[field::items];
  Rankings rankings;
  rankings.method = gallery_->method();
  rankings.gallery_images = static_cast<std::int64_t>(items_.of_rows().size());
  rankings.gallery_items = items_.count();
  rankings.self_excluded = exclude_self_;
  rankings.trainings_since_gallery = trainings_since_gallery_;
  rankings.query_input = input_of(query);
  rankings.gallery_input = gallery_->input();
  std::vector<std::int64_t> excluded;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t number = number_of(items[i]);
    std::int64_t relevant = number >= 0 ? items_.images_of(number) : 0;
    if (exclude_self_) {
      excluded.push_back(
          row_of_itself(query[field::indices][i], items[i], query[field::origins][i]));
      relevant -= excluded.back() >= 0 ? 1 : 0;
    } else if (!told_of_itself_ &&
               is_in_gallery(query[field::indices][i], query[field::origins][i])) {
      told_of_itself_ = true;
      context.warn("query " + query[field::origins][i].text() +
                   " is in the gallery and finds itself; with exclude_self = true each query's own "
                   "image is left out");
    }
    rankings.item.push_back(number);
    rankings.relevant.push_back(relevant);
  }
  for (const Mask mask : masks_) {
    rankings.by_mask.push_back(ranking_under(mask, query, rankings.item, excluded));
  }
  // What a gallery of another plugin got wrong must not reach a metric.
  const std::string problem = problem_with(rankings);
  if (!problem.empty()) throw Error("the gallery's search is wrong: " + problem, Fault::internal);
  packet.set(field::rankings, std::move(rankings));
}

}  // namespace seam::stages
