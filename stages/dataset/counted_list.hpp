/// Reads DeepFashion's lists: a count, column names, then so many rows of columns between blanks.
///
///     2
///     image_name          category_label
///     img/A/img_1.jpg     3
///     img/B/img_1.jpg     41
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

/// A list file's text, and what messages call it.
struct ListText {
  std::string name;
  std::string text;
};

struct CountedRow {
  std::vector<std::string_view> columns;  ///< views into the text
  std::int64_t line = 0;                  ///< from 1
};

/// The rows. `columns`: the names that the second line has to have, as many as every row has
/// columns; the first of them is checked. Accepts any run of blanks between columns, CRLF, blank
/// lines at the end and a UTF-8 byte order mark. Throws seam::Error naming file and line where the
/// first line is no count, the second no column names, a row has another number of columns, or
/// the count and the rows differ.
[[nodiscard]] std::vector<CountedRow> parse_counted_list(
    const ListText& list, const std::vector<std::string_view>& columns);

/// The same for lists whose rows have different numbers of columns, at least as many as `columns`.
[[nodiscard]] std::vector<CountedRow> parse_ragged_list(
    const ListText& list, const std::vector<std::string_view>& columns);

/// Throws seam::Error where the file cannot be read; `what` says what it should be.
[[nodiscard]] ListText read_list_text(const std::filesystem::path& file, const std::string& what);

/// The words of a line, between any run of blanks.
[[nodiscard]] std::vector<std::string_view> columns_of(std::string_view line);

/// Throws seam::Error: "FILE:LINE: what".
[[noreturn]] void fail_at(const std::string& file, std::int64_t line, const std::string& what);

/// The digits' value; nothing for anything but digits.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view digits);

}  // namespace seam::stages
