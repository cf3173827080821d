/// Reads DeepFashion's lists: a count, column names, then that number of rows, with columns
/// separated by blanks.
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

/// A list file's text, and its name in messages.
struct ListText {
  std::string name;
  std::string text;
};

struct CountedRow {
  std::vector<std::string_view> columns;  ///< views into the text
  std::int64_t line = 0;                  ///< from 1
};

/// Parses the rows. `columns`: the names on the second line, one per column; the first of them is
/// checked. Accepts any run of blanks between columns, CRLF, blank lines at the end and a UTF-8
/// byte order mark. Throws seam::Error with file and line if the first line is not a count, the
/// second does not have the column names, a row has a different number of columns, or the count and
/// the rows differ.
[[nodiscard]] std::vector<CountedRow> parse_counted_list(
    const ListText& list, const std::vector<std::string_view>& columns);

/// The same for lists whose rows may have more columns than `columns`.
[[nodiscard]] std::vector<CountedRow> parse_ragged_list(
    const ListText& list, const std::vector<std::string_view>& columns);

/// Throws seam::Error if the file cannot be read; `what` describes the expected content.
[[nodiscard]] ListText read_list_text(const std::filesystem::path& file, const std::string& what);

/// The words of a line, between any run of blanks.
[[nodiscard]] std::vector<std::string_view> columns_of(std::string_view line);

/// Throws seam::Error: "FILE:LINE: what".
[[noreturn]] void fail_at(const std::string& file, std::int64_t line, const std::string& what);

/// The value of a number in digits; nullopt for any other text.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view digits);

}  // namespace seam::stages
