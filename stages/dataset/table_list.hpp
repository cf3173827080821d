/// Reads a table of images from CSV, with columns in common use:
///
///     path,item,category,split               or those of open-metric-learning:
///     a.jpg,id_7,boots,train                 label,path,split,is_query,is_gallery,category,...
///
/// Columns may be in any order; those that no option names are ignored.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

/// What to do with the columns x_1, x_2, y_1 and y_2.
enum class TableBoxes : std::uint8_t {
  refuse,  ///< reject a table that has them, since their purpose is not specified
  field,   ///< each row has a box
  ignore   ///< use the whole image
};

/// A column that becomes a field.
struct TableField {
  std::string column;
  std::string name;
};

struct TableOptions {
  char separator = ',';
  // Names of columns; empty: the defaults.
  std::string path;
  std::string item;
  std::string category;
  std::string split_column;
  std::string split;  ///< rows to read; "*": all; empty: the only split
  TableBoxes boxes = TableBoxes::refuse;
  std::vector<TableField> texts;
  std::vector<TableField> integers;
  std::vector<TableField> numbers;
};

struct TableRow {
  std::string path;
  std::string item;
  std::int64_t category = 0;
  std::int64_t index = 0;  ///< position in the whole table
  std::int64_t line = 0;
  std::array<float, 4> box{};  ///< left, top, right, bottom, in pixels
  std::vector<std::string> texts;
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
};

struct TableList {
  std::vector<TableRow> rows;  ///< rows of the split, in file order
  /// Sorted bytewise over all splits; empty if the table numbers them itself or has none.
  std::vector<std::string> categories;
  std::int64_t rows_of_all_splits = 0;
  /// Items of the split "train" that are also in another split.
  std::vector<std::string> items_in_train_and_elsewhere;
};

/// Parses a table held in memory; `name` is the file's name in messages. Columns have the names in
/// the options, or by default: path; item or label; category; split. Rows are in split "query" or
/// "gallery" if the column is_query or is_gallery exists and is true.
///
/// Categories are the cells' numbers if each cell is a whole number, else positions in the sorted
/// vocabulary of the whole table.
///
/// Throws seam::Error with file and line if the table is malformed, an image, with its box, is
/// listed twice, no row is in the split, or there are boxes but no choice how to use them.
[[nodiscard]] TableList parse_table(std::string_view text, const std::string& name,
                                    const TableOptions& options);

}  // namespace seam::stages
