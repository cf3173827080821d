#include "stages/dataset/csv.hpp"

#include <seam/error.hpp>
#include <utility>

namespace seam::stages {

CsvReader::CsvReader(std::string_view text, std::string name, char separator)
    : text_(text), name_(std::move(name)), separator_(separator) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
}

void CsvReader::fail(std::int64_t line, const std::string& what) const {
  throw Error(name_ + ":" + std::to_string(line) + ": " + what);
}

bool CsvReader::take_line_end() {
  const std::size_t before = at_;
  if (text_[at_] == '\r') ++at_;
  if (!at_end() && text_[at_] == '\n') {
    ++at_;
  } else if (at_ == before) {
    return false;
  }
  ++line_;  // a single CR ends a line too
  return true;
}

bool CsvReader::next(CsvRow& row) {
  while (!at_end() && take_line_end()) {
  }
  if (at_end()) return false;
  row.cells.clear();
  row.line = line_;
  while (true) {
    std::string& cell = row.cells.emplace_back();
    if (!at_end() && text_[at_] == '"') {
      read_quoted(cell);
    } else {
      read_plain(cell);
    }
    if (at_end() || text_[at_] != separator_) break;
    ++at_;
  }
  if (!at_end()) take_line_end();
  return true;
}

void CsvReader::read_quoted(std::string& cell) {
  const std::int64_t opened = line_;
  ++at_;
  while (true) {
    if (at_end()) {
      fail(opened,
           "the quotes that open on this line are never closed; double a quote inside quotes");
    }
    const char c = text_[at_++];
    if (c == '\0') fail(line_, "a NUL byte: this is not a text file, or not UTF-8");
    if (c == '\n') ++line_;
    if (c != '"') {
      cell += c;
    } else if (!at_end() && text_[at_] == '"') {
      cell += '"';
      ++at_;
    } else {
      break;
    }
  }
  if (at_end() || text_[at_] == separator_ || text_[at_] == '\n' || text_[at_] == '\r') return;
  fail(line_,
       "closing quotes must be followed by a separator or the end of the line; double a quote "
       "inside quotes");
}

void CsvReader::read_plain(std::string& cell) {
  const std::size_t from = at_;
  for (; !at_end(); ++at_) {
    const char c = text_[at_];
    if (c == separator_ || c == '\n' || c == '\r') break;
    if (c == '"') {
      fail(line_,
           "a quote inside a cell that does not begin with one; put the whole cell into quotes and "
           "double the quote inside");
    }
    if (c == '\0') fail(line_, "a NUL byte: this is not a text file, or not UTF-8");
  }
  cell = text_.substr(from, at_ - from);
}

}  // namespace seam::stages
