#include "stages/report/neighbours.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "stages/class_vocabulary.hpp"
#include "stages/image/encode_jpeg.hpp"
#include "stages/picture_paths.hpp"
#include "stages/ranking_method.hpp"

namespace seam::stages {
namespace {

/// Ascending from the best.
auto merit(const AskedQuery& query) {
  const auto right = std::ranges::count(query.nearest, true, &FoundPicture::right);
  const std::int64_t rank =
      query.first_right > 0 ? query.first_right : std::numeric_limits<std::int64_t>::max();
  const float distance = query.nearest.empty() ? 0 : query.nearest.front().distance;
  return std::tuple(rank, -right, distance);
}

/// Ascending from the worst.
auto demerit(const AskedQuery& query) {
  const auto [rank, right, distance] = merit(query);
  return std::tuple(-rank, -right, distance);
}

template <class Key>
std::vector<std::size_t> first_by(std::span<const AskedQuery> queries,
                                  std::vector<std::size_t> candidates, std::int64_t count,
                                  Key key) {
  std::ranges::stable_sort(
      candidates, [&](std::size_t a, std::size_t b) { return key(queries[a]) < key(queries[b]); });
  candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(count)));
  return candidates;
}

std::string category_title(std::int64_t category, const std::vector<std::string>& names,
                           bool only) {
  if (category >= 0) {
    const auto at = static_cast<std::size_t>(category);
    return (at < names.size() ? names[at] : "Category " + std::to_string(category)) + ", at random";
  }
  return only ? "At random" : "Category unknown, at random";
}

using Json = nlohmann::ordered_json;

// A limit, because JPEG files have at most 65,535 rows of pixels.
constexpr std::size_t most_rows = 100;
constexpr int largest_cell = 128;

std::string short_number(double value) {
  std::array<char, 32> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%.3g", value));
  return text.data();
}

}  // namespace

std::vector<QueryGroup> choose_queries(std::span<const AskedQuery> queries,
                                       const QueryChoice& choice, Random random) {
  std::vector<std::size_t> answerable;
  std::map<std::int64_t, std::vector<std::size_t>> by_category;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].relevant > 0) answerable.push_back(i);
    by_category[queries[i].category].push_back(i);
  }
  std::vector<QueryGroup> groups;
  const auto add = [&groups](std::string title, std::vector<std::size_t> chosen) {
    if (!chosen.empty()) groups.push_back({std::move(title), std::move(chosen)});
  };
  const auto best = first_by(queries, answerable, choice.best, merit);
  std::erase_if(answerable,
                [&](std::size_t at) { return std::ranges::find(best, at) != best.end(); });
  add("Best", best);
  add("Worst", first_by(queries, answerable, choice.worst, demerit));

  std::vector<std::pair<std::int64_t, std::vector<std::size_t>>> categories(by_category.begin(),
                                                                            by_category.end());
  // Drawn for every category, so that a sample does not depend on which other categories are shown.
  for (auto& [category, members] : categories) random.shuffle(std::span(members));
  std::ranges::stable_sort(
      categories, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  const auto shown = std::min(categories.size(), static_cast<std::size_t>(choice.categories));
  categories.resize(shown);
  std::ranges::sort(categories, {}, [](const auto& entry) { return entry.first; });
  for (auto& [category, members] : categories) {
    members.resize(std::min(members.size(), static_cast<std::size_t>(choice.per_category)));
    add(category_title(category, choice.names, by_category.size() == 1), members);
  }
  return groups;
}

void DrawnNeighbours::declare(Declaration& d) {
  d.doc(
      "Draws queries with their nearest gallery images, for `seam report`: the best, the worst and "
      "a random sample of each category, the same sample in every epoch. Labels are read to select "
      "the queries and to frame the right images, never to rank. The whole images are read again "
      "from their files, not as cropped, resized or recoloured for the model. An image that cannot "
      "be read is shown as missing. When the flow ends, the result is written to "
      "`pictures/STAGE/epoch-0012.json` in the run folder, with a folder of JPEG files next to it. "
      "Its `sheet.jpg` shows the first 100 queries, one per row, for TensorBoard. Of several "
      "masks, the first is shown.");
  d.only_writes();
  d.reference("index", gallery_, "the `retrieval.index` stage that was searched");
  d.parameter("k", k_, "number of neighbours to show; the search must find at least this many")
      .range(1, 100);
  d.parameter("best", choice_.best, "number of best queries").range(0, 1000);
  d.parameter("worst", choice_.worst, "number of worst queries").range(0, 1000);
  d.parameter("per_category", choice_.per_category, "number of random queries per category")
      .range(0, 1000);
  d.parameter("categories", choice_.categories,
              "number of categories to sample: those with the most queries")
      .range(0, 1000);
  d.parameter("size", size_, "longer side of the drawn images").range(16, 1024).unit("px");
  d.parameter("root", root_,
              "the folder that the data set's file names are relative to; empty: the files that "
              "the data set read or, if they are unknown, searched from its list upwards")
      .folder_with({});
  d.needs(field::rankings).contract("*[N," + std::to_string(k_) + "+]");
  d.needs(field::origins);
  d.needs(field::items);
  d.upstream(names_, "names of the categories");
  d.accepts(field::categories).doc("-1 if absent: one sample of all queries");
  d.accepts(field::paths).doc("the queries' files");
}

void DrawnNeighbours::open(Context& context) {
  static_cast<void>(DrawnSet("pictures", context));  // throws if there is no run folder
}

void DrawnNeighbours::begin(Context& context) {
  flow_.enter(context);
  same_gallery_.begin();
  queries_.clear();
}

void DrawnNeighbours::process(const Packet& packet, Context& /*context*/) {
  const auto& rankings = packet.get(field::rankings);
  if (const std::string problem = problem_with(rankings); !problem.empty()) {
    throw Error("field 'rankings' cannot be drawn: " + problem, Fault::internal);
  }
  same_gallery_.check(*gallery_, rankings);
  const retrieval::Ranking& first = rankings.by_mask.front();
  if (!queries_.empty() &&
      (mask_ != first.mask || metric_ != first.metric || method_ != rankings.method)) {
    throw Error("the queries of one flow were searched in different ways: under mask " +
                    to_string(mask_) + " by " + order_of(metric_, method_) + ", and under mask " +
                    to_string(first.mask) + " by " + order_of(first.metric, rankings.method),
                Fault::internal);
  }
  mask_ = first.mask;
  metric_ = first.metric;
  method_ = rankings.method;
  for (std::size_t query = 0; query < rankings.item.size(); ++query) {
    queries_.push_back(asked(packet, query));
  }
}

AskedQuery DrawnNeighbours::asked(const Packet& packet, std::size_t query) const {
  const auto& rankings = packet.get(field::rankings);
  const retrieval::Ranking& ranking = rankings.by_mask.front();
  const auto found = static_cast<std::size_t>(ranking.neighbours.k);
  AskedQuery asked;
  asked.origin = packet.get(field::origins)[query];
  asked.item = packet.get(field::items)[query];
  if (packet.has(field::paths) && query < packet.get(field::paths).size()) {
    asked.file = packet.get(field::paths)[query];
  }
  if (packet.has(field::categories)) asked.category = packet.get(field::categories)[query];
  asked.relevant = rankings.relevant[query];
  for (std::size_t rank = 0; rank < found; ++rank) {
    const std::size_t at = query * found + rank;
    const std::int64_t row = ranking.neighbours.rows[at];
    if (row < 0) break;  // the gallery has no more
    const bool right = ranking.items[at] == rankings.item[query];
    if (right && asked.first_right == 0) asked.first_right = static_cast<std::int64_t>(rank) + 1;
    if (rank < static_cast<std::size_t>(k_)) {
      asked.nearest.push_back({row, ranking.neighbours.distances[at], right});
    }
  }
  return asked;
}

std::filesystem::path DrawnNeighbours::file_of_row(std::size_t row) const {
  const auto* const images = dynamic_cast<const retrieval::GalleryImages*>(&*gallery_);
  if (images == nullptr || row >= images->files().size()) return {};
  return images->files()[row];
}

Json DrawnNeighbours::draw(const Origin& origin, const std::filesystem::path& file,
                           const std::string& item, std::int64_t category, Drawn& drawn) const {
  const auto [known, fresh] = drawn.by_name.try_emplace(origin.text());
  Json& picture = known->second;
  if (!fresh) return picture;
  picture = {{"name", origin.text()}, {"item", item}};
  if (category >= 0) picture["category"] = category;
  std::vector<std::uint8_t> bytes;
  try {
    Image image = read_thumbnail(file_of(origin, root_, file), size_);
    bytes = encode_jpeg(image);
    drawn.images.emplace(origin.text(), std::move(image));
  } catch (const Error& error) {
    if (error.fault() != Fault::data) throw;
    picture["problem"] = error.full_message();
    if (drawn.missing++ == 0) drawn.first_problem = error.full_message();
    return picture;
  }
  picture["file"] = drawn.set.write_picture(std::to_string(drawn.by_name.size()) + ".jpg", bytes);
  return picture;
}

void DrawnNeighbours::add_row(const AskedQuery& query, const std::string& group,
                              Drawn& drawn) const {
  const std::size_t columns = static_cast<std::size_t>(k_) + 1;
  const std::size_t begin = drawn.sheet.size();
  if (begin == most_rows * columns) return;
  const auto add = [&](const Origin& origin, std::array<std::string, 2> text, Role role) {
    const auto image = drawn.images.find(origin.text());
    if (image == drawn.images.end()) text[0] = "missing";
    drawn.sheet.push_back(
        {image == drawn.images.end() ? blank() : image->second, std::move(text), role});
  };
  add(query.origin, {group, query.item}, Role::anchor);
  for (const FoundPicture& found : query.nearest) {
    const retrieval::GalleryRow& row = gallery_->rows()[static_cast<std::size_t>(found.row)];
    add(row.origin, {short_number(found.distance), row.item},
        found.right ? Role::positive : Role::negative);
  }
  drawn.sheet.resize(begin + columns, {blank(), {}, Role::single});  // the gallery may be smaller
}

Json DrawnNeighbours::draw_query(const AskedQuery& query, Drawn& drawn) const {
  Json neighbours = Json::array();
  for (const FoundPicture& found : query.nearest) {
    const auto at = static_cast<std::size_t>(found.row);
    const retrieval::GalleryRow& row = gallery_->rows()[at];
    Json picture = draw(row.origin, file_of_row(at), row.item, row.category, drawn);
    picture["right"] = found.right;
    picture["distance"] = found.distance;
    neighbours.push_back(std::move(picture));
  }
  Json drawn_query{{"query", draw(query.origin, query.file, query.item, query.category, drawn)},
                   {"relevant", query.relevant},
                   {"neighbours", std::move(neighbours)}};
  if (query.first_right > 0) drawn_query["first_right"] = query.first_right;
  return drawn_query;
}

std::string DrawnNeighbours::note() const {
  std::string text =
      "Nearest first, under mask " + to_string(mask_) + " by " + order_of(metric_, method_) + ".";
  if (is_reranked(method_)) {
    text += " Distances are those of the re-ranking, not of " + to_string(metric_) + ".";
  }
  text += " Labels are read to select the queries and to frame the images that show their item";
  text += reads_labels(mask_)
              ? "; the search read them too: the true category of every query narrowed it."
              : ", never to rank.";
  text += " Best: those whose item comes first; worst: those whose item comes last, or not at all.";
  return text;
}

void DrawnNeighbours::end(Context& context) {
  if (queries_.empty()) throw Error("no query was received, so there is nothing to draw");
  Drawn drawn;
  drawn.set = DrawnSet("pictures", context);
  Json groups = Json::array();
  QueryChoice choice = choice_;
  choice.names = agreed_names(names_);
  for (const QueryGroup& group : choose_queries(queries_, choice, context.random_of_run())) {
    Json queries = Json::array();
    for (const std::size_t query : group.queries) {
      queries.push_back(draw_query(queries_[query], drawn));
      add_row(queries_[query], group.title, drawn);
    }
    groups.push_back({{"title", group.title}, {"queries", std::move(queries)}});
  }
  Json content{{"note", note()}, {"groups", std::move(groups)}};
  if (!drawn.sheet.empty()) {
    const Image sheet =
        contact_sheet(drawn.sheet, static_cast<std::size_t>(k_) + 1, std::min(size_, largest_cell));
    content["sheet"] = drawn.set.write_picture("sheet.jpg", encode_jpeg(sheet));
  }
  drawn.set.write("neighbours", std::move(content));
  if (drawn.missing > 0) {
    context.warn(std::to_string(drawn.missing) + " of " + std::to_string(drawn.by_name.size()) +
                 " images could not be drawn; the first: " + drawn.first_problem);
  }
  queries_.clear();
}

}  // namespace seam::stages
