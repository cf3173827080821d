#include "stages/dataset/inshop_list.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <seam/error.hpp>
#include <unordered_map>
#include <utility>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

constexpr std::array<std::string_view, 3> split_names{"train", "query", "gallery"};

constexpr std::size_t index_of(Split split) {
  return static_cast<std::size_t>(split);
}

/// The parts of "img/WOMEN/Dresses/id_00000002/02_1_front.jpg" that the reader needs.
struct PathParts {
  std::string_view department;  ///< "WOMEN"
  std::string_view category;    ///< "Dresses"
  std::string_view item;        ///< "id_00000002"
};

/// Splits a path, or describes in `fault` what is wrong with it.
std::optional<PathParts> split_path(std::string_view path, std::string& fault) {
  if (path.front() == '/') {
    fault = "must be relative to the data set's root";
    return {};
  }
  if (!stays_below_root(path)) {
    fault = "may not hold empty, '.' or '..' folders";
    return {};
  }
  std::array<std::string_view, 4> last{};
  std::string_view rest = path;
  for (auto part = last.rbegin(); part != last.rend(); ++part) {
    const std::size_t slash = rest.rfind('/');
    *part = rest.substr(slash + 1);  // npos + 1 is 0
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(0, slash);
  }
  if (last.front().empty()) {
    fault = "must end in DEPARTMENT/CATEGORY/ITEM/FILE, as in 'WOMEN/Dresses/id_00000002/a.jpg'";
    return {};
  }
  return PathParts{last[0], last[1], last[2]};
}

class Parser {
 public:
  explicit Parser(const ListText& list) : name_(list.name) {
    const std::vector<ListRow> rows =
        parse_counted_list(list, {"image_name", "item_id", "evaluation_status"});
    list_.rows.reserve(rows.size());
    for (const ListRow& row : rows) read_row(row);
  }

  InshopList parsed(const ExpectedCounts& expected) {
    number_categories();
    take_stock();
    check(expected);
    return std::move(list_);
  }

 private:
  struct ItemSeen {
    std::array<std::int64_t, 3> images{};
    std::array<std::int64_t, 3> first_line{};
    std::int32_t category = 0;
    bool several_categories = false;
  };

  void read_row(const ListRow& listed) {
    const std::string_view path = listed.columns[0];
    const std::string_view item_id = listed.columns[1];
    const std::string_view status = listed.columns[2];
    const auto split = split_from_name(status);
    if (!split) {
      listed.fail("unknown status " + in_quotes(status) +
                  "; accepted are 'train', 'query' and 'gallery'");
    }
    constexpr std::string_view prefix = "id_";
    if (!item_id.starts_with(prefix) || !whole_number(item_id.substr(prefix.size()))) {
      listed.fail("item id " + in_quotes(item_id) +
                  " is not 'id_' and a number, as in 'id_00000002'");
    }
    std::string fault;
    const auto parts = split_path(path, fault);
    if (!parts) listed.fail("image name " + in_quotes(path) + " " + fault);
    if (parts->item != item_id) {
      listed.fail("image " + in_quotes(path) + " is in the folder of item " +
                  in_quotes(parts->item) + " but is listed as item " + in_quotes(item_id));
    }
    note_once(seen_paths_, listed, path, "image");

    InshopRow row;
    row.path = path;
    row.item = item_id;
    row.category = category_number(parts->department, parts->category);
    row.split = *split;
    row.line = listed.line;
    note_item(row, listed);
    list_.rows.push_back(std::move(row));
  }

  /// Provisional numbers in order of appearance; number_categories() makes them alphabetical.
  std::int32_t category_number(std::string_view department, std::string_view category) {
    const auto next = static_cast<std::int32_t>(categories_.size());
    const std::string name = std::string(department) + "_" + std::string(category);
    return categories_.try_emplace(name, next).first->second;
  }

  void note_item(const InshopRow& row, const ListRow& listed) {
    const auto [place, is_new] = items_.try_emplace(listed.columns[1]);
    ItemSeen& seen = place->second;
    if (is_new) seen.category = row.category;
    if (seen.category != row.category) seen.several_categories = true;
    const std::size_t split = index_of(row.split);
    if (seen.images[split]++ == 0) seen.first_line[split] = row.line;

    const auto trained = index_of(Split::train);
    for (const Split other : {Split::query, Split::gallery}) {
      if (seen.images[trained] > 0 && seen.images[index_of(other)] > 0) {
        listed.fail("item " + in_quotes(row.item) + " is in train (line " +
                    std::to_string(seen.first_line[trained]) + ") and in " +
                    std::string(split_name(other)) + " (line " +
                    std::to_string(seen.first_line[index_of(other)]) +
                    "); a model must not be evaluated on items it was trained on");
      }
    }
  }

  void number_categories() {
    std::vector<std::int32_t> sorted_number(categories_.size());
    for (const auto& [name, provisional] : categories_) {  // a std::map: alphabetical
      sorted_number[static_cast<std::size_t>(provisional)] =
          static_cast<std::int32_t>(list_.categories.size());
      list_.categories.push_back(name);
    }
    for (InshopRow& row : list_.rows) {
      row.category = sorted_number[static_cast<std::size_t>(row.category)];
    }
  }

  void take_stock() {
    InshopReport& report = list_.report;
    for (const auto& [item, seen] : items_) {
      for (std::size_t split = 0; split < 3; ++split) {
        report.images[split] += seen.images[split];
        if (seen.images[split] > 0) ++report.items[split];
      }
      if (seen.images[index_of(Split::train)] == 1)
        report.single_image_train_items.emplace_back(item);
      if (seen.several_categories) report.items_in_several_categories.emplace_back(item);
      if (seen.images[index_of(Split::query)] > 0 && seen.images[index_of(Split::gallery)] == 0) {
        report.query_items_without_gallery.emplace_back(item);
        report.lone_queries += seen.images[index_of(Split::query)];
      }
    }
    for (auto* items : {&report.single_image_train_items, &report.items_in_several_categories,
                        &report.query_items_without_gallery}) {
      std::sort(items->begin(), items->end());
    }
  }

  void check(const ExpectedCounts& expected) const {
    const std::array<std::optional<std::int64_t>, 3> wanted{expected.train, expected.query,
                                                            expected.gallery};
    for (std::size_t split = 0; split < 3; ++split) {
      if (wanted[split] && *wanted[split] != list_.report.images[split]) {
        refuse_count(name_ + ": " + std::to_string(list_.report.images[split]) + " " +
                         std::string(split_names[split]) + " images",
                     std::to_string(*wanted[split]));
      }
    }
  }

  const std::string& name_;
  InshopList list_;
  std::map<std::string, std::int32_t> categories_;
  std::unordered_map<std::string_view, ItemSeen> items_;  // views into the text
  ListedLines seen_paths_;                                // views into the text
};

}  // namespace

std::string_view split_name(Split split) {
  return split_names[index_of(split)];
}

std::optional<Split> split_from_name(std::string_view name) {
  const auto* const found = std::find(split_names.begin(), split_names.end(), name);
  if (found == split_names.end()) return {};
  return static_cast<Split>(found - split_names.begin());
}

std::string InshopReport::text() const {
  std::string out;
  for (std::size_t split = 0; split < 3; ++split) {
    out += (split == 0 ? "" : ", ") + std::string(split_names[split]) + " " +
           counted(images[split], "image") + " of " + counted(items[split], "item");
  }
  const auto add = [&out](const std::vector<std::string>& found, std::string_view noun,
                          const std::string& one, const std::string& many) {
    if (found.empty()) return;
    out += "\n" + counted(found.size(), noun) + (found.size() == 1 ? one : many) + " (" +
           first_of(found, 3) + ")";
  };
  add(single_image_train_items, "train item", " has one image, so no positive but itself",
      " have one image each, so no positive but itself");
  add(items_in_several_categories, "item", " is in more than one category folder",
      " are in more than one category folder");
  const std::string unanswered = lone_queries == 1
                                     ? "1 query cannot be answered"
                                     : std::to_string(lone_queries) + " queries cannot be answered";
  add(query_items_without_gallery, "query item", " has no gallery image: " + unanswered,
      " have no gallery image: " + unanswered);
  return out;
}

std::vector<InshopRow> InshopList::of(Split split) const {
  std::vector<InshopRow> chosen;
  chosen.reserve(static_cast<std::size_t>(report.images[index_of(split)]));
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(chosen),
               [split](const InshopRow& row) { return row.split == split; });
  return chosen;
}

InshopList parse_inshop_list(const ListText& list, const ExpectedCounts& expected) {
  return Parser(list).parsed(expected);
}

InshopList read_inshop_list(const std::filesystem::path& file, const ExpectedCounts& expected) {
  const ListText list = read_list_text(
      file,
      "no list file '" + file.string() +
          "'; expected DeepFashion In-Shop's Eval/list_eval_partition.txt or a list in its layout",
      "list file");
  return parse_inshop_list(list, expected);
}

}  // namespace seam::stages
