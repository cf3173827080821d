#include "stages/dataset/inshop_list.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <seam/error.hpp>
#include <unordered_map>
#include <utility>

#include "stages/counted.hpp"
#include "stages/dataset/in_quotes.hpp"

namespace seam::stages {
namespace {

constexpr std::array<std::string_view, 3> split_names{"train", "query", "gallery"};

constexpr std::size_t index_of(Split split) {
  return static_cast<std::size_t>(split);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

/// Cuts a text into lines, counting them from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  [[nodiscard]] std::int64_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::int64_t number_ = 0;
};

struct Columns {
  std::array<std::string_view, 3> at{};
  std::size_t count = 0;  ///< may exceed 3; only three are kept
};

Columns split_columns(std::string_view line) {
  Columns columns;
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && is_blank(line[at])) ++at;
    if (at == line.size()) return columns;
    const std::size_t start = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    if (columns.count < columns.at.size()) {
      columns.at[columns.count] = line.substr(start, at - start);
    }
    ++columns.count;
  }
}

std::optional<std::int64_t> whole_number(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end != digits.data() + digits.size() || value < 0) return {};
  return value;
}

/// The parts of "img/WOMEN/Dresses/id_00000002/02_1_front.jpg" that the reader needs.
struct PathParts {
  std::string_view department;  ///< "WOMEN"
  std::string_view category;    ///< "Dresses"
  std::string_view item;        ///< "id_00000002"
  std::string_view file;        ///< "02_1_front.jpg"
};

/// Splits a path, or describes in `fault` what is wrong with it.
std::optional<PathParts> split_path(std::string_view path, std::string& fault) {
  if (path.front() == '/') {
    fault = "must be relative to the data set's root";
    return {};
  }
  std::array<std::string_view, 4> last{};
  std::size_t parts = 0;
  std::string_view rest = path;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..") {
      fault = "may not hold empty, '.' or '..' folders";
      return {};
    }
    std::rotate(last.begin(), last.begin() + 1, last.end());
    last.back() = part;
    ++parts;
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (parts < last.size()) {
    fault = "must end in DEPARTMENT/CATEGORY/ITEM/FILE, as in 'WOMEN/Dresses/id_00000002/a.jpg'";
    return {};
  }
  return PathParts{last[0], last[1], last[2], last[3]};
}

std::int32_t colour_of(std::string_view file) {
  const std::size_t end = file.find('_');
  if (end == std::string_view::npos || end == 0 || end > 4) return 0;
  const auto number = whole_number(file.substr(0, end));
  return number ? static_cast<std::int32_t>(*number) : 0;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : lines_(text), name_(name) {}

  InshopList parse(const ExpectedCounts& expected) {
    const std::int64_t declared = read_head();
    // Memory is not allocated by the declared count, which may be any number.
    list_.rows.reserve(static_cast<std::size_t>(std::min<std::int64_t>(declared, 1 << 20)));
    std::string_view line;
    while (lines_.next(line)) {
      const Columns columns = split_columns(line);
      if (columns.count > 0) read_row(columns);
    }
    const auto found = static_cast<std::int64_t>(list_.rows.size());
    if (found != declared) {
      throw Error(
          name_ + ":1: the first line declares " + std::to_string(declared) +
          (declared == 1 ? " image, but " : " images, but ") + std::to_string(found) +
          (found == 1 ? " row follows" : " rows follow") + " (the last on line " +
          std::to_string(lines_.number()) +
          "); the file is truncated or was edited: download it again, or correct the count");
    }
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

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(name_ + ":" + std::to_string(lines_.number()) + ": " + what);
  }

  std::int64_t read_head() {
    std::string_view line;
    if (!lines_.next(line)) {
      throw Error(name_ +
                  ": the file is empty; expected the number of images on line 1, column names on "
                  "line 2, then one row per image");
    }
    const Columns first = split_columns(line);
    const auto declared = first.count == 1 ? whole_number(first.at[0]) : std::nullopt;
    if (!declared) {
      fail("line 1 must hold the number of images and nothing else, but holds " + in_quotes(line));
    }
    if (!lines_.next(line)) {
      fail("the file ends after its first line; column names and rows must follow");
    }
    const Columns names = split_columns(line);
    if (names.count != 3 || split_from_name(names.at[2])) {
      fail("line 2 must hold the column names 'image_name item_id evaluation_status', but holds " +
           in_quotes(line));
    }
    return *declared;
  }

  void read_row(const Columns& columns) {
    if (columns.count != 3) {
      fail("a row must hold three columns, image name, item id and status, but this one holds " +
           std::to_string(columns.count) +
           (columns.count > 3 ? " (blanks in names are not possible in this format)" : ""));
    }
    const auto [path, item_id, status] = columns.at;
    const auto split = split_from_name(status);
    if (!split) {
      fail("unknown status " + in_quotes(status) + "; accepted are 'train', 'query' and 'gallery'");
    }
    constexpr std::string_view prefix = "id_";
    if (!item_id.starts_with(prefix) || !whole_number(item_id.substr(prefix.size()))) {
      fail("item id " + in_quotes(item_id) + " is not 'id_' and a number, as in 'id_00000002'");
    }
    std::string fault;
    const auto parts = split_path(path, fault);
    if (!parts) fail("image name " + in_quotes(path) + " " + fault);
    if (parts->item != item_id) {
      fail("image " + in_quotes(path) + " is in the folder of item " + in_quotes(parts->item) +
           " but is listed as item " + in_quotes(item_id));
    }
    const auto [twin, is_new] = seen_paths_.try_emplace(path, lines_.number());
    if (!is_new) {
      fail("image " + in_quotes(path) + " is listed a second time; first on line " +
           std::to_string(twin->second));
    }

    InshopRow row;
    row.path = path;
    row.item = item_id;
    row.category = category_number(parts->department, parts->category);
    row.colour = colour_of(parts->file);
    row.split = *split;
    row.line = lines_.number();
    note_item(row, item_id);
    list_.rows.push_back(std::move(row));
  }

  /// Provisional numbers in order of appearance; number_categories() makes them alphabetical.
  std::int32_t category_number(std::string_view department, std::string_view category) {
    scratch_.assign(department);
    scratch_ += '_';
    scratch_ += category;
    const auto next = static_cast<std::int32_t>(categories_.size());
    return categories_.try_emplace(scratch_, next).first->second;
  }

  void note_item(const InshopRow& row, std::string_view item_id) {
    const auto [place, is_new] = items_.try_emplace(item_id);
    ItemSeen& seen = place->second;
    if (is_new) seen.category = row.category;
    if (seen.category != row.category) seen.several_categories = true;
    const std::size_t split = index_of(row.split);
    if (seen.images[split]++ == 0) seen.first_line[split] = row.line;

    const auto trained = index_of(Split::train);
    for (const Split other : {Split::query, Split::gallery}) {
      if (seen.images[trained] > 0 && seen.images[index_of(other)] > 0) {
        fail("item " + in_quotes(item_id) + " is in train (line " +
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
        throw Error(
            name_ + ": " + std::to_string(list_.report.images[split]) + " " +
            std::string(split_names[split]) + " images, but " + std::to_string(*wanted[split]) +
            " were expected; this is a different list from the one the experiment was written for");
      }
    }
  }

  Lines lines_;
  const std::string& name_;
  InshopList list_;
  std::map<std::string, std::int32_t> categories_;
  std::unordered_map<std::string_view, ItemSeen> items_;           // views into the text
  std::unordered_map<std::string_view, std::int64_t> seen_paths_;  // views into the text
  std::string scratch_;
};

std::string first_few(const std::vector<std::string>& items) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(items.size(), 3); ++i) {
    out += (i == 0 ? "" : ", ") + items[i];
  }
  return items.size() > 3 ? out + ", ..." : out;
}

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
           first_few(found) + ")";
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

InshopList parse_inshop_list(std::string_view text, const std::string& name,
                             const ExpectedCounts& expected) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return Parser(text, name).parse(expected);
}

InshopList read_inshop_list(const std::filesystem::path& file, const ExpectedCounts& expected) {
  std::error_code fault;
  if (!std::filesystem::is_regular_file(file, fault)) {
    throw Error("no list file '" + file.string() +
                "'; expected DeepFashion In-Shop's Eval/list_eval_partition.txt or a list in its "
                "layout");
  }
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  std::string text(static_cast<std::size_t>(std::max<std::streamoff>(size, 0)), '\0');
  in.seekg(0);
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    throw Error("the list file '" + file.string() + "' cannot be read; check its permissions");
  }
  return parse_inshop_list(text, file.string(), expected);
}

}  // namespace seam::stages
