#include "stages/dataset/category_list.hpp"

#include <algorithm>
#include <cstddef>
#include <seam/error.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "stages/counted.hpp"
#include "stages/dataset/in_quotes.hpp"
#include "stages/dataset/relative_path.hpp"

namespace seam::stages {
namespace {

std::vector<std::string> vocabulary_of(const ListText& list) {
  std::vector<std::string> names;
  for (const CountedRow& row : parse_counted_list(list, {"category_name", "category_type"})) {
    const std::optional<std::int64_t> type = whole_number(row.columns[1]);
    if (!type || *type < 1 || *type > 3) {
      fail_at(list.name, row.line,
              "category type " + in_quotes(row.columns[1]) +
                  " is not 1 (upper body), 2 (lower body) or 3 (full body)");
    }
    if (std::find(names.begin(), names.end(), row.columns[0]) != names.end()) {
      fail_at(list.name, row.line,
              "category " + in_quotes(row.columns[0]) + " is listed a second time");
    }
    names.emplace_back(row.columns[0]);
  }
  if (names.empty()) fail_at(list.name, 1, "no category is listed");
  return names;
}

/// The folder of an image; throws if the path leaves the data set's root.
std::string folder_of(const ListText& list, const CountedRow& row) {
  const std::string_view path = row.columns[0];
  if (!stays_below_root(path)) {
    fail_at(list.name, row.line,
            "image name " + in_quotes(path) +
                " must be relative to the data set's root, without empty, '.' or '..' folders");
  }
  const std::size_t end = path.rfind('/');
  if (end == std::string_view::npos) {
    fail_at(list.name, row.line,
            "image name " + in_quotes(path) + " has no folder, which is the name of its item");
  }
  const std::string_view folder = path.substr(0, end);
  return std::string(folder.substr(folder.rfind('/') + 1));  // npos + 1 is 0
}

/// Finds the images of a list for the rows of another one, by name, each once.
class Join {
 public:
  Join(const ListText& images, const std::vector<CountedRow>& rows) : images_(images) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto [known, is_new] = places_.try_emplace(rows[i].columns[0], Place{i, rows[i].line});
      if (!is_new) {
        fail_at(images.name, rows[i].line,
                "image " + in_quotes(rows[i].columns[0]) +
                    " is listed a second time; first on line " +
                    std::to_string(known->second.line));
      }
    }
  }

  /// For each row of `rows`, the index of the row with its image in the first list.
  [[nodiscard]] std::vector<std::size_t> places_of(const ListText& list,
                                                   const std::vector<CountedRow>& rows) const {
    std::vector<std::int64_t> seen(places_.size());  // on which line
    std::vector<std::size_t> places;
    places.reserve(rows.size());
    for (const CountedRow& row : rows) {
      const auto known = places_.find(row.columns[0]);
      if (known == places_.end()) {
        fail_at(list.name, row.line,
                "image " + in_quotes(row.columns[0]) + " is not in '" + images_.name +
                    "'; the lists are of different releases");
      }
      std::int64_t& line = seen[known->second.row];
      if (line > 0) {
        fail_at(list.name, row.line,
                "image " + in_quotes(row.columns[0]) + " is listed a second time; first on line " +
                    std::to_string(line));
      }
      line = row.line;
      places.push_back(known->second.row);
    }
    if (rows.size() == places_.size()) return places;
    const auto missing = std::find_if(places_.begin(), places_.end(), [&](const auto& image) {
      return seen[image.second.row] == 0;
    });
    throw Error(list.name + ": " + counted(rows.size(), "image") + ", but '" + images_.name +
                "' lists " + grouped(static_cast<std::int64_t>(places_.size())) +
                (missing == places_.end() ? std::string()
                                          : "; " + in_quotes(missing->first) + " is missing"));
  }

 private:
  struct Place {
    std::size_t row = 0;
    std::int64_t line = 0;
  };
  const ListText& images_;
  std::unordered_map<std::string_view, Place> places_;
};

void take_splits(const ListText& list, const Join& join, CategoryList& result) {
  constexpr std::array<std::string_view, 3> names{"train", "val", "test"};
  const std::vector<CountedRow> rows =
      parse_counted_list(list, {"image_name", "evaluation_status"});
  const std::vector<std::size_t> places = join.places_of(list, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto* const known = std::find(names.begin(), names.end(), rows[i].columns[1]);
    if (known == names.end()) {
      fail_at(list.name, rows[i].line,
              "unknown status " + in_quotes(rows[i].columns[1]) +
                  "; accepted are 'train', 'val' and 'test'");
    }
    const auto split = static_cast<std::size_t>(known - names.begin());
    result.rows[places[i]].split = static_cast<CategorySplit>(split);
    ++result.images[split];
  }
}

void take_boxes(const ListText& list, const Join& join, CategoryList& result) {
  const std::vector<CountedRow> rows =
      parse_counted_list(list, {"image_name", "x_1", "y_1", "x_2", "y_2"});
  const std::vector<std::size_t> places = join.places_of(list, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::array<float, 4>& box = result.rows[places[i]].box;
    for (std::size_t side = 0; side < box.size(); ++side) {
      constexpr std::int64_t most = 1 << 24;  // whole numbers that a float holds
      const std::optional<std::int64_t> number = whole_number(rows[i].columns[side + 1]);
      if (!number || *number > most) {
        fail_at(list.name, rows[i].line,
                in_quotes(rows[i].columns[side + 1]) + " is not a pixel position");
      }
      box[side] = static_cast<float>(*number);
    }
    if (box[2] > box[0] && box[3] > box[1]) continue;
    fail_at(list.name, rows[i].line,
            "the box has no pixels: x_2 must be larger than x_1, and y_2 larger "
            "than y_1");
  }
}

/// Removes the categories without images.
void leave_out_unused(CategoryList& result) {
  std::vector<std::int64_t> number(result.categories.size(), -1);
  for (const CategoryRow& row : result.rows) number[static_cast<std::size_t>(row.category)] = 0;
  std::vector<std::string> used;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<std::int64_t>(used.size());
    used.push_back(std::move(result.categories[i]));
  }
  for (CategoryRow& row : result.rows) {
    row.category = number[static_cast<std::size_t>(row.category)];
  }
  result.categories = std::move(used);
}

}  // namespace

CategoryList join_category_lists(const CategoryLists& lists, CategoryNumbers numbers) {
  CategoryList result;
  result.categories = vocabulary_of(lists.categories);
  const ListText& list = lists.images;
  const std::vector<CountedRow> rows = parse_counted_list(list, {"image_name", "category_label"});
  result.rows.reserve(rows.size());
  for (const CountedRow& row : rows) {
    const std::optional<std::int64_t> label = whole_number(row.columns[1]);
    const auto known = static_cast<std::int64_t>(result.categories.size());
    if (!label || *label < 1 || *label > known) {
      fail_at(list.name, row.line,
              "category label " + in_quotes(row.columns[1]) + " is not one of 1 to " +
                  std::to_string(known) + ", the categories of '" + lists.categories.name + "'");
    }
    result.rows.push_back({.path = std::string(row.columns[0]),
                           .item = folder_of(list, row),
                           .category = *label - 1,
                           .split = CategorySplit::train,
                           .box = {},
                           .line = row.line});
  }
  const Join join(list, rows);
  take_splits(lists.partition, join, result);
  if (lists.boxes) take_boxes(*lists.boxes, join, result);
  if (numbers == CategoryNumbers::used) leave_out_unused(result);
  return result;
}

}  // namespace seam::stages
