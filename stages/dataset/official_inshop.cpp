#include "stages/dataset/official_inshop.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

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
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (const Split split : {Split::train, Split::query, Split::gallery}) {
    const auto at = static_cast<std::size_t>(split);
    const std::int64_t images = list.report.images[at];
    const std::int64_t items = list.report.items[at];
    if (images == official_images[at] && items == official_items[at]) continue;
    add("the " + std::string(split_name(split)) + " split has " + counted(images, "image") +
        " of " + counted(items, "item") + " instead of the official " +
        grouped(official_images[at]) + " of " + grouped(official_items[at]));
  }
  const auto categories = static_cast<std::int64_t>(list.categories.size());
  if (categories != official_categories) {
    add(counted(categories, "category", "categories") + " instead of the official " +
        grouped(official_categories));
  }
  // If the counts already differ, single categories need not be compared.
  for (const OfficialCategory& official : official_queries) {
    if (!text.empty()) break;
    text = difference_in(list, official);
  }
  return text;
}

}  // namespace seam::stages
