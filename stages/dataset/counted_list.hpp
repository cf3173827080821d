/// Reads list files, with columns separated by blanks: line by line, or whole in DeepFashion's form
/// of a count, column names, then that number of rows.
///
///     2
///     image_name          category_label
///     img/A/img_1.jpg     3
///     img/B/img_1.jpg     41
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace seam::stages {

/// A list file's text, and its name in messages.
struct ListText {
  std::string name;
  std::string text;
};

/// Throws seam::Error if the file cannot be read; `what` describes the expected content.
[[nodiscard]] ListText read_list_text(const std::filesystem::path& file, const std::string& what);
/// The same with another message for a file that is missing, and the noun for one that cannot be
/// read.
[[nodiscard]] ListText read_list_text(const std::filesystem::path& file, const std::string& missing,
                                      const std::string& noun);

/// One line of a list.
struct ListRow {
  std::vector<std::string_view> columns;  ///< views into the text
  std::int64_t line = 1;                  ///< from 1
  const std::string* list = nullptr;      ///< name of the list

  /// Throws seam::Error: "LIST:LINE: what".
  [[noreturn]] void fail(const std::string& what) const;
};

/// Cuts a list into lines and columns. Accepts any run of blanks between columns, CRLF, a missing
/// last line end and a UTF-8 byte order mark.
class ListReader {
 public:
  /// Text and name must outlive the reader and its rows.
  ListReader(std::string_view text, const std::string& name);
  explicit ListReader(const ListText& list) : ListReader(list.text, list.name) {}

  /// Reads the next line, which may be blank; returns false at the end.
  bool next();
  /// Reads the next line with columns. Throws seam::Error if the line before it is blank: only the
  /// end of a list may have blank lines. `rows` is the noun for what follows.
  bool next_row(const std::string& rows = "rows");
  /// The line that was read last, or line 1 of an empty list.
  [[nodiscard]] const ListRow& row() const { return row_; }
  /// The same, whole.
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string_view rest_;
  std::string_view text_;
  ListRow row_;
  std::int64_t read_ = 0;  // lines
};

/// Parses the rows. `columns`: the names on the second line, one per column; the first of them is
/// checked. Throws seam::Error with file and line if the first line is not a count, the second does
/// not have the column names, a row has a different number of columns, or the count and the rows
/// differ.
[[nodiscard]] std::vector<ListRow> parse_counted_list(const ListText& list,
                                                      const std::vector<std::string_view>& columns);

/// The line of each name in a list.
using ListedLines = std::unordered_map<std::string_view, std::int64_t>;

/// Records a name that the row lists; throws seam::Error if it was listed before. `noun`: "image".
void note_once(ListedLines& lines, const ListRow& row, std::string_view name,
               const std::string& noun);

/// Throws seam::Error: "FILE:LINE: what".
[[noreturn]] void fail_at(const std::string& file, std::int64_t line, const std::string& what);

/// Throws seam::Error about a count that is not the expected one: "LIST: 3 images", "4", "list".
[[noreturn]] void refuse_count(const std::string& found, const std::string& expected,
                               const std::string& what = "list");

/// The value of a number in digits; nullopt for any other text, or outside the range.
[[nodiscard]] std::optional<std::int64_t> whole_number(
    std::string_view digits, std::int64_t least = 0,
    std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// Whether a name in a list stays within the data set: "img/a.jpg" does; "/a.jpg", "../a.jpg" and
/// "img//a.jpg" do not.
[[nodiscard]] bool stays_below_root(std::string_view path);

}  // namespace seam::stages
