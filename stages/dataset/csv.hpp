/// Reads comma-separated values as spreadsheets and pandas write them (RFC 4180):
///
///     path,title            a cell in quotes may hold commas, line ends and, doubled, quotes
///     a.jpg,"Boots, ""new"""
///
/// CRLF, a missing last line end and a UTF-8 byte order mark are fine; lines without a cell are not
/// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

struct CsvRow {
  std::vector<std::string> cells;
  std::int64_t line = 0;  ///< first line of the row, from 1
};

class CsvReader {
 public:
  /// `text` must outlive the reader; `name` is the file's name in messages.
  CsvReader(std::string_view text, std::string name, char separator);
  /// Reads the next row; returns false at the end. Throws seam::Error with file and line if quotes
  /// are not closed, are inside a cell, or are followed by anything but a separator, and for NUL.
  bool next(CsvRow& row);
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[noreturn]] void fail(std::int64_t line, const std::string& what) const;
  void read_quoted(std::string& cell);
  void read_plain(std::string& cell);
  /// Consumes a line end, if there is one.
  bool take_line_end();
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

  std::string_view text_;
  std::string name_;
  char separator_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace seam::stages
