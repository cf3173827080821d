#include "stages/retrieval/search.hpp"

#include <algorithm>

#include "stages/counted.hpp"
#include "stages/picture_paths.hpp"
#include "stages/retrieval/compared_batch.hpp"

namespace seam::stages {

using retrieval::Mask;
using retrieval::Ranking;
using retrieval::Rankings;

void Search::declare(Declaration& d) {
  d.doc(
      "Finds the nearest gallery images of every query: exact, and the same for any batch size and "
      "any number of threads. Rejects embeddings that have NaN or infinite elements, are zero or "
      "are longer than 1e15 and, if the gallery is compared by cosine, those shorter than 1e-12, "
      "which have no direction.");
  d.reference("index", gallery_, "the `retrieval.index` stage whose gallery is searched");
  declare_masks(d, masks_);
  d.parameter("k", k_, "number of neighbours to find").range(1, 100000);
  d.parameter(
      "exclude_self", exclude_self_,
      "leave-one-out: queries and gallery are the same list, and an image is not matched with "
      "itself. Images are identified by index, because a duplicate may be equally near");
  d.needs(field::items);
  d.needs(field::indices);
  d.needs(field::origins);
  d.accepts(field::paths).doc("to detect queries that are in the gallery");
  d.provides(field::rankings).contract("*[N," + std::to_string(k_) + "]");
  d.provides(field::searched_gallery)
      .doc("information that `retrieval.recall` needs to count hits");
}

void Search::open(Context& /*context*/) {
  check_masks(masks_);
  require_indexed(*gallery_, masks_);
}

void Search::begin(Context& context) {
  unknown_items_.clear();
  told_of_itself_ = false;
  queries_ = not_in_gallery_ = 0;
  first_not_in_gallery_.clear();
  require_ready(*gallery_);
  items_ = GalleryItems(gallery_->rows());
  of_category_.reset();
  if (std::ranges::any_of(masks_, retrieval::reads_labels)) {
    of_category_.emplace(gallery_->rows(), items_.of_rows());
  }
  const auto rows = gallery_->rows();
  const auto unnamed = std::ranges::find_if(
      rows, [](const std::string& item) { return item.empty(); }, &retrieval::GalleryRow::item);
  lists_.clear();
  names_.clear();
  for (const retrieval::GalleryRow& row : gallery_->rows()) {
    if (row.origin.file) lists_.insert(*row.origin.file);
    names_.insert(row.origin.item);
  }
  rows_of_file_.clear();
  images_ = dynamic_cast<const retrieval::GalleryImages*>(&*gallery_);
  without_file_ = images_ != nullptr
                      ? ""
                      : "the gallery's stage does not keep the files of its images; use "
                        "retrieval.index, or let the stage derive from "
                        "seam::retrieval::GalleryImages";
  if (images_ != nullptr) {
    if (images_->files().size() != rows.size()) {
      throw Error("the gallery has different numbers of rows and files", Fault::internal);
    }
    std::int64_t row = 0;
    for (const std::string& file : images_->files()) {
      if (!file.empty()) {
        rows_of_file_[file].push_back(row);
        // A query with the whole image finds parts of it: a.jpg finds a.jpg/0,0,2,2.
        rows_of_file_[std::string_view(file).substr(0, file.rfind('/'))].push_back(row);
      } else if (without_file_.empty()) {
        without_file_ =
            "the gallery does not have the file of " +
            rows[static_cast<std::size_t>(row)].origin.text() +
            "; embed the gallery from image files in this run (rows of retrieval.embedded have "
            "none), or set exclude_self = true for retrieval.search if queries and gallery are the "
            "same list";
      }
      ++row;
    }
  }
  without_item_ = unnamed == rows.end() ? "" : unnamed->origin.text() + " of the gallery";
  trainings_since_gallery_ = context.trainings() - gallery_->trainings();
  if (trainings_since_gallery_ > 0) {
    context.warn("the gallery was embedded before the last " +
                 (trainings_since_gallery_ == 1
                      ? std::string("training")
                      : std::to_string(trainings_since_gallery_) + " training flows") +
                 " and the queries after it; schedule the gallery's flow in between");
  }
}

std::int64_t Search::number_of(const std::string& item) {
  if (const auto known = items_.number_of(item)) return *known;
  const auto next = -2 - static_cast<std::int64_t>(unknown_items_.size());
  return unknown_items_.try_emplace(item, next).first->second;
}

/// The first gallery row of the same image, from any list, that is not `left_out`, or -1.
std::int64_t Search::row_that_shows(std::int64_t id, const Origin& origin, const std::string& file,
                                    std::int64_t left_out) const {
  if (!file.empty()) {
    const auto found = rows_of_file_.find(file);
    if (found != rows_of_file_.end()) {
      const auto row = std::ranges::find_if(found->second,
                                            [&](std::int64_t shown) { return shown != left_out; });
      if (row != found->second.end()) return *row;
    }
    // A part of an image finds the whole; other parts are other images.
    const auto whole = rows_of_file_.find(std::string_view(file).substr(0, file.rfind('/')));
    if (whole != rows_of_file_.end()) {
      const auto row = std::ranges::find_if(whole->second, [&](std::int64_t shown) {
        return shown != left_out &&
               images_->files()[static_cast<std::size_t>(shown)] == whole->first;
      });
      if (row != whole->second.end()) return *row;
    }
    if (found != rows_of_file_.end()) return -1;
  }
  if (id < 0 || (!origin.file && origin.item.empty())) return -1;
  const auto row = items_.row_of_id(id);
  if (!row || *row == left_out) return -1;
  Origin shown = gallery_->rows()[static_cast<std::size_t>(*row)].origin;
  if (!origin.item.empty()) shown.line = origin.line;  // exported tables do not have the lines
  return shown == origin ? *row : -1;
}

/// Describes a query of the batch that is in the gallery and may find itself.
std::string Search::finding_itself(const Packet& query,
                                   const std::vector<std::int64_t>& left_out) const {
  const auto& origins = query[field::origins];
  const std::vector<std::string> files = picture_files(query, origins.size());
  for (std::size_t i = 0; i < origins.size(); ++i) {
    const std::int64_t row =
        row_that_shows(query[field::indices][i], origins[i], files[i], left_out[i]);
    if (row < 0) continue;
    const Origin& shown = gallery_->rows()[static_cast<std::size_t>(row)].origin;
    return "query " + origins[i].text() + " is in the gallery" +
           (shown == origins[i] ? "" : ", as " + shown.text() + ",");
  }
  return {};
}

/// Names a query of the batch that may be in the gallery under a different list, if the query or
/// the gallery does not know the files of all images, and what to do. Rows of retrieval.embedded
/// have neither files nor lines: within one list their places are compared, otherwise their names.
std::string Search::uncompared(const Packet& query,
                               const std::vector<std::int64_t>& left_out) const {
  const auto& origins = query[field::origins];
  const std::vector<std::string> files = picture_files(query, origins.size());
  const auto comparable = [&](std::size_t i) {
    const Origin& origin = origins[i];
    if (!files[i].empty()) return without_file_.empty();
    // An image in a file of many, or of a source that tells nothing.
    if (query.has(field::paths) || origin.line > 0 || !origin.file) return true;
    const bool one_list = query[field::indices][i] >= 0 && !origin.file->empty() &&
                          lists_ == std::set<std::string>{*origin.file};
    return one_list || (!origin.item.empty() && !names_.contains(origin.item));
  };
  for (std::size_t i = 0; i < origins.size(); ++i) {
    if (left_out[i] >= 0 || comparable(i)) continue;
    return "whether query " + origins[i].text() + " is in the gallery is unknown, because " +
           (!files[i].empty()
                ? without_file_
                : "it has neither a file nor a line, as rows of retrieval.embedded, and the "
                  "gallery has an image of the same name from another list; use one list with the "
                  "splits query and gallery for both, or embed both from image files in this run");
  }
  return {};
}

/// The information that is not in the rankings.
SearchedGallery Search::searched_by(const Packet& query,
                                    const std::vector<std::int64_t>& left_out) const {
  SearchedGallery searched;
  const auto& items = query[field::items];
  const auto images = static_cast<std::int64_t>(items_.of_rows().size());
  for (const std::int64_t row : left_out) searched.images.push_back(images - (row >= 0 ? 1 : 0));
  searched.data_difference = images_ != nullptr ? images_->data_difference()
                                                : retrieval::GalleryImages::unknown_difference;
  searched.uncompared = uncompared(query, left_out);
  searched.lists = lists_;
  searched.without_item = without_item_;
  for (std::size_t i = 0; i < items.size() && searched.without_item.empty(); ++i) {
    if (items[i].empty()) searched.without_item = "query " + query[field::origins][i].text();
  }
  searched.own_category = categories_of(query, left_out);
  return searched;
}

/// The gallery images of each query's true category, for masks that use it.
std::vector<SearchedCategory> Search::categories_of(
    const Packet& query, const std::vector<std::int64_t>& left_out) const {
  std::vector<SearchedCategory> found;
  if (!of_category_ || !of_category_->known()) return found;
  const auto& categories = query[field::categories];
  for (std::size_t i = 0; i < categories.size(); ++i) {
    const auto item = items_.number_of(query[field::items][i]);
    SearchedCategory own{of_category_->images(categories[i]),
                         item ? of_category_->images(categories[i], *item) : 0};
    const auto at = static_cast<std::size_t>(left_out[i]);
    if (left_out[i] >= 0 && gallery_->rows()[at].category == categories[i]) {
      --own.images;
      if (item && items_.of_rows()[at] == *item) --own.relevant;
    }
    found.push_back(own);
  }
  return found;
}

Ranking Search::ranking_under(Mask mask, const Packet& query,
                              const std::vector<std::int64_t>& items,
                              const std::vector<std::int64_t>& left_out) const {
  retrieval::SearchRequest request;
  request.mask = mask;
  request.k = k_;
  if (exclude_self_) request.excluded_row = left_out;
  request.query_item = items;
  request.gallery_item = items_.of_rows();
  request.name_of_query = [&](std::int64_t row) {
    return query[field::origins][static_cast<std::size_t>(row)].text();
  };
  const std::span<const std::int64_t> shown = items_.of_rows();
  Ranking ranking{
      mask, gallery_->metric(mask), gallery_->search(embedding_under(mask, query), request), {}};
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
  // The row of each query's own image, which it must not find, or -1.
  const std::vector<std::int64_t> left_out = exclude_self_
                                                 ? rows_of_themselves(*gallery_, items_, query)
                                                 : std::vector<std::int64_t>(count, -1);
  queries_ += static_cast<std::int64_t>(count);
  if (exclude_self_) {
    for (std::size_t i = 0; i < left_out.size(); ++i) {
      if (left_out[i] >= 0) continue;
      if (not_in_gallery_++ == 0) first_not_in_gallery_ = query[field::origins][i].text();
    }
  }
  const std::string itself = finding_itself(query, left_out);
  if (!itself.empty() && !told_of_itself_) {
    told_of_itself_ = true;
    context.warn(itself + " and finds itself" +
                 (exclude_self_
                      ? std::string("; exclude_self identifies an image only by its index")
                      : "; with exclude_self = true each query's own image is left out"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t number = number_of(items[i]);
    std::int64_t relevant = number >= 0 ? items_.images_of(number) : 0;
    const std::int64_t own = left_out[i];
    if (own >= 0 && items_.of_rows()[static_cast<std::size_t>(own)] == number) --relevant;
    rankings.item.push_back(number);
    rankings.relevant.push_back(relevant);
  }
  for (const Mask mask : masks_) {
    rankings.by_mask.push_back(ranking_under(mask, query, rankings.item, left_out));
  }
  // Errors of a gallery of a different plugin must not reach a metric.
  const std::string problem = problem_with(rankings);
  if (!problem.empty()) throw Error("the gallery's search is wrong: " + problem, Fault::internal);
  SearchedGallery searched = searched_by(query, left_out);
  searched.finds_itself = itself;
  packet.set(field::searched_gallery, std::move(searched));
  packet.set(field::rankings, std::move(rankings));
}

void Search::end(Context& context) {
  if (not_in_gallery_ == 0) return;
  if (not_in_gallery_ == queries_) {
    throw Error(
        "exclude_self needs the same list for queries and gallery, but the gallery has none of "
        "the " +
            counted(queries_, "query", "queries") + ", such as " + first_not_in_gallery_ +
            "; fill the gallery with the queries' list, or remove exclude_self",
        Fault::configuration);
  }
  context.warn("exclude_self: the gallery does not have " +
               counted(not_in_gallery_, "query", "queries") + " of " + grouped(queries_) +
               ", such as " + first_not_in_gallery_ +
               "; these were compared with the whole gallery");
}

}  // namespace seam::stages
