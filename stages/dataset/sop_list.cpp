#include "stages/dataset/sop_list.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "stages/counted.hpp"
#include "stages/dataset/in_quotes.hpp"
#include "stages/dataset/relative_path.hpp"

namespace seam::stages {
namespace {

constexpr std::array<std::string_view, 4> names{"image_id", "class_id", "super_class_id", "path"};
constexpr std::int64_t most_categories = 4096;

std::int64_t id(const ListText& list, std::int64_t line, std::size_t column,
                std::string_view text) {
  const std::optional<std::int64_t> number = whole_number(text);
  if (number && *number >= 1 && (column != 2 || *number <= most_categories)) return *number;
  fail_at(list.name, line,
          std::string(names[column]) + " is " + in_quotes(text) +
              ", but must be a whole number from 1" +
              (column == 2 ? " to " + std::to_string(most_categories) : std::string()));
}

SopRow parse_row(const ListText& list, std::int64_t line,
                 const std::vector<std::string_view>& columns) {
  if (columns.size() != names.size()) {
    fail_at(
        list.name, line,
        counted(columns.size(), "column") + " instead of 4: image_id class_id super_class_id path");
  }
  SopRow row{std::string(columns[3]), id(list, line, 0, columns[0]), id(list, line, 1, columns[1]),
             id(list, line, 2, columns[2]) - 1, line};
  if (!stays_below_root(row.path)) {
    fail_at(list.name, line,
            "path " + in_quotes(row.path) +
                " must be relative to the data set's root, without empty, '.' or '..' folders");
  }
  return row;
}

std::vector<SopRow> parse(const ListText& list) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  std::string_view rest = list.text;
  if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
  std::vector<SopRow> rows;
  std::int64_t line = 0;
  std::int64_t blank = 0;  // a line without columns, which only the end of the file may have
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::vector<std::string_view> columns = columns_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line;
    if (line == 1) {
      if (!std::equal(columns.begin(), columns.end(), names.begin(), names.end())) {
        fail_at(
            list.name, line,
            "the first line must hold the column names 'image_id class_id super_class_id path'");
      }
    } else if (columns.empty()) {
      if (blank == 0) blank = line;
    } else {
      if (blank > 0) fail_at(list.name, blank, "the line is blank, but rows follow");
      rows.push_back(parse_row(list, line, columns));
    }
  }
  if (rows.empty()) fail_at(list.name, std::max<std::int64_t>(line, 1), "the list has no images");
  return rows;
}

/// The location of a row, for messages about a duplicate of it.
struct Place {
  const ListText* list;
  const SopRow* row;

  [[nodiscard]] std::string text() const { return list->name + ":" + std::to_string(row->line); }
};

class Join {
 public:
  void add(const ListText& list, const std::vector<SopRow>& rows) {
    for (const SopRow& row : rows) {
      const Place place{&list, &row};
      const auto once = [&](const Place& twin, const std::string& what) {
        fail_at(list.name, row.line, what + " is listed a second time; first in " + twin.text());
      };
      const auto [image, new_image] = of_image_.try_emplace(row.image, place);
      if (!new_image) once(image->second, "image_id " + std::to_string(row.image));
      const auto [path, new_path] = of_path_.try_emplace(row.path, place);
      if (!new_path) once(path->second, "image " + in_quotes(row.path));
      const auto [item, new_item] = of_item_.try_emplace(row.item, place);
      if (item->second.list != &list) {
        fail_at(list.name, row.line,
                "class " + std::to_string(row.item) + " is in " + item->second.text() +
                    " too; a model must not be evaluated on classes it was trained on");
      }
    }
  }

  /// The number of rows of `info` that are not in the lists; throws if a row contradicts them.
  [[nodiscard]] std::int64_t unknown(const ListText& info, const std::vector<SopRow>& rows) const {
    std::int64_t unknown = 0;
    for (const SopRow& row : rows) {
      const auto known = of_image_.find(row.image);
      if (known == of_image_.end()) {
        ++unknown;
        continue;
      }
      const SopRow& other = *known->second.row;
      if (row.item == other.item && row.category == other.category && row.path == other.path) {
        continue;
      }
      fail_at(info.name, row.line,
              "image_id " + std::to_string(row.image) +
                  " has a different class, super-class or path than in " + known->second.text() +
                  "; the lists are of different releases");
    }
    return unknown;
  }

  [[nodiscard]] std::int64_t images() const { return static_cast<std::int64_t>(of_image_.size()); }

 private:
  std::unordered_map<std::int64_t, Place> of_image_;
  std::unordered_map<std::string_view, Place> of_path_;
  std::unordered_map<std::int64_t, Place> of_item_;  // its first row
};

/// "bicycle" of "bicycle_final/111085122871_0.JPG"; empty for an image without a folder.
std::string_view name_in(std::string_view path) {
  constexpr std::string_view ending = "_final";
  const std::size_t end = path.find('/');
  if (end == std::string_view::npos) return {};
  std::string_view folder = path.substr(0, end);
  if (folder.size() > ending.size() && folder.ends_with(ending)) {
    folder.remove_suffix(ending.size());
  }
  return folder;
}

std::vector<std::string> names_of_categories(const SopLists& lists) {
  std::map<std::int64_t, std::string_view> found;  // empty if there are several
  for (const std::vector<SopRow>& rows : lists.rows) {
    for (const SopRow& row : rows) {
      const std::string_view name = name_in(row.path);
      const auto [known, fresh] = found.try_emplace(row.category, name);
      if (known->second != name) known->second = {};
    }
  }
  std::vector<std::string> categories;
  for (std::int64_t number = 0; number <= found.rbegin()->first; ++number) {
    const auto known = found.find(number);
    const bool named = known != found.end() && !known->second.empty();
    categories.push_back(named ? std::string(known->second)
                               : "super-class " + std::to_string(number + 1));
  }
  return categories;
}

}  // namespace

SopLists join_sop_lists(const ListText& train, const ListText& test,
                        const std::optional<ListText>& info) {
  SopLists lists;
  lists.rows = {parse(train), parse(test)};
  Join join;
  join.add(train, lists.rows[0]);
  join.add(test, lists.rows[1]);
  for (std::size_t split = 0; split < lists.rows.size(); ++split) {
    std::unordered_map<std::int64_t, std::int64_t> images_of_item;
    for (const SopRow& row : lists.rows[split]) ++images_of_item[row.item];
    lists.counts[split] = {static_cast<std::int64_t>(lists.rows[split].size()),
                           static_cast<std::int64_t>(images_of_item.size())};
    if (static_cast<SopSplit>(split) != SopSplit::test) continue;
    lists.lone_test_images = std::count_if(images_of_item.begin(), images_of_item.end(),
                                           [](const auto& item) { return item.second == 1; });
  }
  lists.categories = names_of_categories(lists);
  if (!info) return lists;
  Join of_info;  // only to find duplicates
  const std::vector<SopRow> rows = parse(*info);
  of_info.add(*info, rows);
  lists.only_in_info = join.unknown(*info, rows);
  lists.not_in_info = join.images() - (of_info.images() - lists.only_in_info);
  return lists;
}

}  // namespace seam::stages
