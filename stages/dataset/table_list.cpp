#include "stages/dataset/table_list.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <seam/error.hpp>
#include <utility>

#include "stages/counted.hpp"
#include "stages/dataset/category_numbers.hpp"
#include "stages/dataset/csv.hpp"
#include "stages/number_in.hpp"

namespace seam::stages {
namespace {

template <class Names>
std::string listed(const Names& names) {
  return first_of(names, 12, in_quotes);
}

constexpr std::array<std::string_view, 4> box_columns{"x_1", "y_1", "x_2", "y_2"};

class TableParser {
 public:
  TableParser(std::string_view text, const std::string& name, const TableOptions& options)
      : reader_(text, name, options.separator), options_(options) {}

  TableList parse() {
    read_head();
    while (reader_.next(row_)) read_row();
    set_categories();
    if (list_.rows_of_all_splits == 0) fail(head_.line, "the table has no rows");
    if (options_.split.empty() && splits_.size() > 1) {
      throw Error(reader_.name() + ": the rows are of several splits, " + listed(splits_) +
                      "; set 'split' to one of them, or to \"*\" for all rows",
                  Fault::configuration);
    }
    if (splits_of_flag_.size() > 1) {
      throw Error(reader_.name() + ": the rows of split " + in_quotes(options_.split) +
                      " are of several splits, " + listed(splits_of_flag_) +
                      ", one of which may be for tuning; set 'split' to " +
                      in_quotes(*splits_of_flag_.begin() + "/" + options_.split) +
                      " or to the same with a different split",
                  Fault::configuration);
    }
    if (list_.rows.empty()) {
      throw Error(reader_.name() + ": no row is of split " + in_quotes(options_.split) +
                  "; the splits are " + listed(splits_));
    }
    for (const auto& [item, seen] : splits_of_item_) {
      if (seen.contains("train") && seen.size() > 1) {
        list_.items_in_train_and_elsewhere.push_back(item);
      }
    }
    return std::move(list_);
  }

 private:
  using Column = std::optional<std::size_t>;

  [[noreturn]] void fail(std::int64_t line, const std::string& what) const {
    throw Error(reader_.name() + ":" + std::to_string(line) + ": " + what);
  }

  void read_head() {
    if (!reader_.next(head_)) {
      throw Error(reader_.name() + ": the file is empty; expected column names on the first line");
    }
    for (std::size_t at = 0; at < head_.cells.size(); ++at) {
      head_.cells[at] = trimmed(head_.cells[at]);
      const std::string& column = head_.cells[at];
      if (!column.empty() && !columns_.emplace(column, at).second) {
        fail(head_.line, "column " + in_quotes(column) + " occurs twice");
      }
    }
    path_ = wanted(options_.path.empty() ? "path" : options_.path, "with the images' files",
                   "path_column");
    item_ = item_column();
    category_ = options_.category.empty()
                    ? found("category")
                    : wanted(options_.category, "with categories", "category_column");
    split_ = options_.split_column.empty()
                 ? found("split")
                 : wanted(options_.split_column, "with splits", "split_column");
    is_query_ = found("is_query");
    is_gallery_ = found("is_gallery");
    const bool by_flag = flag_of_split().has_value();
    if (!options_.split.empty() && options_.split != "*" && !split_ && !by_flag) {
      fail(head_.line, "there is no column 'split', but split is " + in_quotes(options_.split) +
                           "; the columns are " + listed(head_.cells) + ": set 'split_column'");
    }
    find_boxes();
    const auto find_fields = [this](const std::vector<TableField>& fields,
                                    std::vector<std::size_t>& at) {
      for (const TableField& field : fields) {
        at.push_back(*wanted(field.column, "for field " + in_quotes(field.name), ""));
      }
    };
    find_fields(options_.texts, texts_);
    find_fields(options_.integers, integers_);
    find_fields(options_.numbers, numbers_);
  }

  [[nodiscard]] Column found(std::string_view column) const {
    const auto known = columns_.find(column);
    return known == columns_.end() ? Column() : Column(known->second);
  }

  [[nodiscard]] Column wanted(const std::string& column, const std::string& what,
                              const std::string& parameter) const {
    const Column at = found(column);
    if (!at) {
      fail(head_.line, "there is no column " + in_quotes(column) + " " + what +
                           "; the columns are " + listed(head_.cells) +
                           (parameter.empty() ? "" : ": set '" + parameter + "'") +
                           (head_.cells.size() == 1 ? ", or a different 'separator'" : ""));
    }
    return at;
  }

  [[nodiscard]] Column item_column() const {
    if (!options_.item.empty()) return wanted(options_.item, "with items", "item_column");
    const Column item = found("item");
    const Column label = found("label");
    if (item && label) {
      fail(head_.line,
           "there are both a column 'item' and a column 'label'; set 'item_column' to the one that "
           "identifies the same object");
    }
    return item ? item : label ? label : wanted("item", "(or 'label') with items", "item_column");
  }

  /// The yes/no column that selects the rows of the split, for "query" and "gallery", and for
  /// "validation/query" and the like.
  [[nodiscard]] Column flag_of_split() const {
    const std::string_view split = options_.split;
    const std::string_view part = split.substr(split.rfind('/') + 1);
    if (part == "query") return is_query_;
    if (part == "gallery") return is_gallery_;
    return {};
  }
  /// Whether the flag selects the row, which is in the split.
  [[nodiscard]] bool is_flagged(std::size_t column, const std::string& split) {
    if (!flag(column)) return false;
    const std::size_t slash = options_.split.rfind('/');
    if (slash != std::string::npos) return split == options_.split.substr(0, slash);
    if (!split.empty()) splits_of_flag_.insert(split);
    return true;
  }

  void find_boxes() {
    const auto there = std::count_if(box_columns.begin(), box_columns.end(),
                                     [&](auto column) { return found(column).has_value(); });
    if (options_.boxes == TableBoxes::ignore) return;
    if (options_.boxes == TableBoxes::refuse && there < 4)
      return;  // columns with a different meaning
    for (std::size_t side = 0; side < box_columns.size(); ++side) {
      box_[side] = *wanted(std::string(box_columns[side]), "with boxes", "");
    }
    has_boxes_ = true;
  }

  void read_row() {
    if (row_.cells.size() != head_.cells.size()) {
      fail(row_.line, "the row has " + std::to_string(row_.cells.size()) + " cells, but line " +
                          std::to_string(head_.line) + " names " +
                          std::to_string(head_.cells.size()) + " columns");
    }
    TableRow row;
    row.index = list_.rows_of_all_splits++;
    row.line = row_.line;
    row.path = full_cell(*path_);
    row.item = full_cell(*item_);
    std::string split;
    if (split_) split = full_cell(*split_);
    const Column by_flag = flag_of_split();
    const bool served = options_.split.empty() || options_.split == "*" ||
                        (by_flag ? is_flagged(*by_flag, split) : split == options_.split);
    const bool may_lack_box = options_.boxes == TableBoxes::refuse || !served;
    if (has_boxes_ && !(may_lack_box && lacks_box())) read_box(row);
    const std::string file = std::filesystem::path(row.path).lexically_normal().string();
    const auto [first, fresh] = seen_.try_emplace(std::pair(file, row.box), row_.line);
    if (!fresh) {
      fail(row_.line, "image " + in_quotes(row.path) + " is listed a second time; first on line " +
                          std::to_string(first->second) +
                          (is_query_ ? ""
                                     : ". An image that is both a query and in the gallery needs "
                                       "one row with columns 'is_query' and 'is_gallery'"));
    }
    std::string category;
    if (category_) {
      category = full_cell(*category_);
      all_categories_.insert(category);
    }
    if (!split.empty()) {
      splits_.insert(split);
      splits_of_item_[row.item].insert(split);
    }
    if (is_query_ && flag(*is_query_)) splits_.insert("query");
    if (is_gallery_ && flag(*is_gallery_)) splits_.insert("gallery");
    if (served) {
      read_fields(row);
      categories_of_rows_.push_back(std::move(category));
      list_.rows.push_back(std::move(row));
    }
  }

  /// A cell that may not be empty, without blanks around it.
  [[nodiscard]] std::string full_cell(std::size_t column) const {
    const std::string_view cell = trimmed(row_.cells[column]);
    if (cell.empty()) {
      fail(row_.line, "the cell in column " + in_quotes(head_.cells[column]) + " is empty");
    }
    return std::string(cell);
  }

  [[nodiscard]] bool flag(std::size_t column) const {
    const std::string_view cell = trimmed(row_.cells[column]);
    for (const std::string_view yes : {"True", "true", "TRUE", "1", "1.0"}) {
      if (cell == yes) return true;
    }
    for (const std::string_view no : {"False", "false", "FALSE", "0", "0.0", "", "nan", "NaN"}) {
      if (cell == no) return false;
    }
    fail(row_.line, "column " + in_quotes(head_.cells[column]) + " holds " + in_quotes(cell) +
                        "; accepted are True, False, 1, 0 and an empty cell");
  }

  template <class T>
  [[nodiscard]] T number(std::size_t column, const char* kind) const {
    const std::string cell = full_cell(column);
    const auto value = number_in<T>(cell);
    if (!value) {
      fail(row_.line, "column " + in_quotes(head_.cells[column]) + " holds " + in_quotes(cell) +
                          ", which is not " + kind);
    }
    return *value;
  }

  [[nodiscard]] bool lacks_box() const {
    return std::all_of(box_.begin(), box_.end(),
                       [&](std::size_t column) { return trimmed(row_.cells[column]).empty(); });
  }

  void read_box(TableRow& row) const {
    if (options_.boxes == TableBoxes::refuse) {
      fail(row_.line,
           "the image has a box (columns x_1, y_1, x_2, y_2); set boxes = \"field\" and put "
           "image.crop with box = true after image.decode, or set boxes = \"ignore\" to use whole "
           "images");
    }
    for (std::size_t side = 0; side < row.box.size(); ++side) {
      row.box[side] = number<float>(box_[side], "a number");
    }
    const auto [left, top, right, bottom] = row.box;
    if (left < 0 || top < 0 || right <= left || bottom <= top) {
      fail(row_.line,
           "the box is empty or begins outside the image: x_1 must be from 0 to below x_2, and y_1 "
           "from 0 to below y_2");
    }
  }

  void read_fields(TableRow& row) const {
    for (const std::size_t column : texts_) row.texts.push_back(row_.cells[column]);
    for (const std::size_t column : integers_) {
      row.integers.push_back(number<std::int64_t>(column, "a whole number"));
    }
    for (const std::size_t column : numbers_) {
      row.numbers.push_back(number<double>(column, "a finite number"));
    }
  }

  void set_categories() {
    if (!category_) return;
    NumberedCategories numbered = number_categories(categories_of_rows_, all_categories_);
    for (std::size_t row = 0; row < list_.rows.size(); ++row) {
      list_.rows[row].category = numbered.rows[row];
    }
    list_.categories = std::move(numbered.names);
  }

  CsvReader reader_;
  const TableOptions& options_;
  CsvRow head_;
  CsvRow row_;
  TableList list_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  Column path_;
  Column item_;
  Column category_;
  Column split_;
  Column is_query_;
  Column is_gallery_;
  bool has_boxes_ = false;
  std::array<std::size_t, 4> box_{};
  std::vector<std::size_t> texts_;
  std::vector<std::size_t> integers_;
  std::vector<std::size_t> numbers_;
  std::map<std::pair<std::string, std::array<float, 4>>, std::int64_t> seen_;
  std::set<std::string> all_categories_;
  std::vector<std::string> categories_of_rows_;
  std::set<std::string> splits_;
  std::set<std::string> splits_of_flag_;  // of the rows that a flag selected
  std::map<std::string, std::set<std::string>> splits_of_item_;
};

}  // namespace

TableList parse_table(std::string_view text, const std::string& name, const TableOptions& options) {
  return TableParser(text, name, options).parse();
}

}  // namespace seam::stages
