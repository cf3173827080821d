/// Reads a table of pictures from CSV, with the columns that people have:
///
///     path,item,category,split               or those of open-metric-learning:
///     a.jpg,id_7,boots,train                 label,path,split,is_query,is_gallery,category,...
///
/// Columns may stand in any order; those that nobody asks for are left alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

/// What to do with the columns x_1, x_2, y_1 and y_2.
enum class TableBoxes : std::uint8_t {
  refuse,  ///< a table that has them: it is not said what they are for
  field,   ///< each row has one
  ignore   ///< the whole picture counts
};

/// A column that becomes a field.
struct TableField {
  std::string column;
  std::string name;
};

struct TableOptions {
  char separator = ',';
  // Names of columns; empty: the usual ones.
  std::string path;
  std::string item;
  std::string category;
  std::string split_column;
  std::string split;  ///< which rows; "*": all; empty: the only one that there is
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
  std::vector<TableRow> rows;  ///< of the split, in file order
  /// Sorted bytewise over all splits; empty where the table numbers them itself or has none.
  std::vector<std::string> categories;
  std::int64_t rows_of_all_splits = 0;
  /// Items of the split "train" that are in another split too.
  std::vector<std::string> items_in_train_and_elsewhere;
};

/// Parses a table held in memory; `name` stands for the file in messages. A column is found by the
/// name that the options give, else: path; item or label; category; split. Rows are of split
/// "query" or "gallery" where the column is_query or is_gallery, if there is one, says so.
///
/// Categories are numbers where each cell is a whole number, else positions in the sorted
/// vocabulary of the whole table.
///
/// Throws seam::Error naming file and line where: a column is missing, there twice, or can be
/// meant in two ways; a row has more or fewer cells than the first line; a cell that is read is
/// empty (texts may be) or no number; a picture, with its box, is listed twice; no row is of the
/// split; there are boxes and it is not said what for; or CsvReader finds something.
[[nodiscard]] TableList parse_table(std::string_view text, const std::string& name,
                                    const TableOptions& options);

}  // namespace seam::stages
