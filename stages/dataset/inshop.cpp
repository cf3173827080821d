#include "stages/dataset/inshop.hpp"

#include <sstream>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

constexpr std::array<std::int64_t, 3> official_images{25'882, 14'218, 12'612};
constexpr std::array<std::int64_t, 3> official_items{3'997, 3'985, 3'985};
constexpr std::int64_t official_categories = 23;

/// Of the queries.
struct OfficialCategory {
  std::string_view category;
  std::optional<std::int64_t> images;
  std::int64_t items = 0;
};

constexpr std::array<OfficialCategory, 6> official_queries{{{"WOMEN_Blouses_Shirts", 2'094, 697},
                                                            {"WOMEN_Tees_Tanks", 2'955, 673},
                                                            {"WOMEN_Dresses", {}, 624},
                                                            {"WOMEN_Shorts", 988, 246},
                                                            {"WOMEN_Sweaters", 735, 212},
                                                            {"WOMEN_Jackets_Coats", 545, 195}}};

std::string difference_in(const InshopList& list, const OfficialCategory& official) {
  std::int64_t images = 0;
  std::set<std::string_view> items;
  for (const InshopRow& row : list.rows) {
    const auto category = static_cast<std::size_t>(row.category);
    if (row.split != Split::query || list.categories[category] != official.category) continue;
    ++images;
    items.insert(row.item);
  }
  const auto found = static_cast<std::int64_t>(items.size());
  if (images == official.images.value_or(images) && found == official.items) return {};
  const auto text = [&](std::int64_t of_images, std::int64_t of_items) {
    return (official.images ? counted(of_images, "query", "queries") + " of " : std::string()) +
           counted(of_items, "item");
  };
  return std::string(official.category) + " has " + text(images, found) +
         " instead of the official " + text(official.images.value_or(0), official.items);
}

}  // namespace

std::string difference_from_official(const InshopList& list) {
  std::string text;
  for (const Split split : {Split::train, Split::query, Split::gallery}) {
    const auto at = static_cast<std::size_t>(split);
    const std::int64_t images = list.report.images[at];
    const std::int64_t items = list.report.items[at];
    if (images == official_images[at] && items == official_items[at]) continue;
    add_clause(text, "the " + std::string(split_name(split)) + " split has " +
                         counted(images, "image") + " of " + counted(items, "item") +
                         " instead of the official " + grouped(official_images[at]) + " of " +
                         grouped(official_items[at]));
  }
  const auto categories = static_cast<std::int64_t>(list.categories.size());
  if (categories != official_categories) {
    add_clause(text, counted(categories, "category", "categories") + " instead of the official " +
                         grouped(official_categories));
  }
  // If the counts already differ, single categories need not be compared.
  for (const OfficialCategory& official : official_queries) {
    if (!text.empty()) break;
    text = difference_in(list, official);
  }
  return text;
}

void InshopPictures::declare_split(Declaration& d) {
  d.parameter("split", split_, "which part of the list to serve",
              {{"train", Split::train}, {"query", Split::query}, {"gallery", Split::gallery}});
  declare_rows(d,
               {.item = "the item id of the list",
                .category = "index of DEPARTMENT_CATEGORY in the sorted vocabulary of all splits",
                .index = "position in the split, from 0, before folds cut it"});
}

void InshopPictures::serve_list(const std::filesystem::path& root,
                                const std::filesystem::path& list, const ExpectedCounts& expected,
                                const Context& context) {
  const std::filesystem::path file = root / list;
  require_folder(root,
                 " with a data set in the In-Shop layout; set 'root' to the folder that holds "
                 "'img' and 'Eval'");
  const InshopList parsed = read_inshop_list(file, expected);
  const std::vector<InshopRow> images = parsed.of(split_);
  const std::string split(split_name(split_));
  if (images.empty()) throw Error("'" + file.string() + "' has no " + split + " images");
  std::vector<PictureRow> rows;
  rows.reserve(images.size());
  for (const InshopRow& image : images) {
    rows.push_back({root / image.path, image.path, image.item, image.category,
                    static_cast<std::int64_t>(rows.size()), image.line});
  }
  require_first(rows, split + " images");
  serve(std::move(rows), parsed.categories, file.string(), context, split + " images");
  difference_ = difference_from_official(parsed);
  if (split_ == Split::train) add_clause(difference_, "images of the train split");
  if (served() != static_cast<std::int64_t>(images.size())) {
    add_clause(difference_, grouped(served()) + " of " + counted(images.size(), split + " image"));
  }
  std::istringstream lines(parsed.report.text());
  for (std::string line; std::getline(lines, line);) context.info(line);
  if (split_ != Split::train && parsed.report.lone_queries > 0) {
    const bool one = parsed.report.lone_queries == 1;
    context.warn((
        one ? "1 query has no image of its item in the gallery: no model can answer it"
            : std::to_string(parsed.report.lone_queries) +
                  " queries have no image of their item in the gallery: no model can answer them"));
  }
}

void Inshop::declare(Declaration& d) {
  d.doc(
      "Serves one split of a data set in DeepFashion's In-Shop layout, one image per "
      "packet.\n\nThe whole partition list is checked before the first image is served: its count, "
      "statuses, item ids, and that no item is in both train and test.");
  d.parameter("root", root_, "the folder that holds 'img' and 'Eval'")
      .required()
      .folder_with({"img"});  // the list may be elsewhere
  d.parameter("list", list_, "the partition list, relative to root").must_exist("root");
  declare_split(d);
  d.offers<PublishedLists>(*this);
  const auto expect = [&d](const char* parameter, std::optional<std::int64_t>& member,
                           const char* doc) {
    d.parameter(parameter, member, doc).at_least(0).same_results();
  };
  expect("expect_train", expected_.train,
         "number of train images that the list must have (25882 in the official one)");
  expect("expect_query", expected_.query,
         "number of query images that the list must have (14218 in the official one)");
  expect("expect_gallery", expected_.gallery,
         "number of gallery images that the list must have (12612 in the official one)");
}

void Inshop::open(Context& context) {
  serve_list(root_, list_, expected_, context);
  if (difference().empty() || split() == Split::train) return;
  context.info("not the data of published results: " + difference());
}

}  // namespace seam::stages
