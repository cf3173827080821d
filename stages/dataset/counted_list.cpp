#include "stages/dataset/counted_list.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <seam/error.hpp>
#include <system_error>
#include <utility>

#include "stages/counted.hpp"
#include "stages/dataset/in_quotes.hpp"

namespace seam::stages {
namespace {

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : " ") + std::string(name);
  return text;
}

enum class RowLengths : std::uint8_t { equal, ragged };

/// Throws unless a row, or the line of column names, has the right number of columns.
void check_length(const ListText& list, std::int64_t line, std::size_t found,
                  const std::vector<std::string_view>& columns, RowLengths lengths) {
  const bool ragged = lengths == RowLengths::ragged;
  if (ragged ? found >= columns.size() : found == columns.size()) return;
  fail_at(list.name, line,
          counted(found, "column") + " instead of " + (ragged ? "at least " : "") +
              std::to_string(columns.size()) + ": " + listed(columns) + (ragged ? " ..." : ""));
}

std::vector<CountedRow> parse(const ListText& list, const std::vector<std::string_view>& columns,
                              RowLengths lengths);

}  // namespace

std::vector<std::string_view> columns_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\v\f\r";
  std::vector<std::string_view> columns;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(blanks, at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    columns.push_back(line.substr(at, end - at));
    at = end;
  }
  return columns;
}

void fail_at(const std::string& file, std::int64_t line, const std::string& what) {
  throw Error(file + ":" + std::to_string(line) + ": " + what);
}

std::optional<std::int64_t> whole_number(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end != digits.data() + digits.size() || value < 0) return {};
  return value;
}

std::vector<CountedRow> parse_counted_list(const ListText& list,
                                           const std::vector<std::string_view>& columns) {
  return parse(list, columns, RowLengths::equal);
}

std::vector<CountedRow> parse_ragged_list(const ListText& list,
                                          const std::vector<std::string_view>& columns) {
  return parse(list, columns, RowLengths::ragged);
}

namespace {

std::vector<CountedRow> parse(const ListText& list, const std::vector<std::string_view>& columns,
                              RowLengths lengths) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  std::string_view rest = list.text;
  if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
  std::optional<std::int64_t> count;
  std::vector<CountedRow> rows;
  std::int64_t line = 0;
  std::int64_t blank = 0;  // a line without columns, which only the end of the file may have
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::vector<std::string_view> found = columns_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line;
    if (line == 1) {
      count = found.size() == 1 ? whole_number(found[0]) : std::nullopt;
      if (!count)
        fail_at(list.name, line, "the first line must hold the number of rows and nothing else");
      continue;
    }
    if (found.empty()) {
      if (blank == 0) blank = line;
      continue;
    }
    if (blank > 0) fail_at(list.name, blank, "the line is blank, but rows follow");
    check_length(list, line, found.size(), columns, lengths);
    if (line > 2) {
      rows.push_back({std::move(found), line});
    } else if (found[0] != columns[0]) {
      fail_at(list.name, line,
              "the second line must hold the column names '" + listed(columns) +
                  "', but it begins with " + in_quotes(found[0]));
    }
  }
  if (!count)
    fail_at(list.name, 1, "the file is empty; the first line must hold the number of rows");
  if (*count != static_cast<std::int64_t>(rows.size())) {
    fail_at(list.name, 1,
            "the first line declares " + counted(*count, "row") + ", but " +
                grouped(static_cast<std::int64_t>(rows.size())) +
                " follow; the file is truncated or was edited: download it again, or correct the "
                "count");
  }
  return rows;
}

}  // namespace

ListText read_list_text(const std::filesystem::path& file, const std::string& what) {
  std::error_code fault;
  if (!std::filesystem::is_regular_file(file, fault)) {
    throw Error("no file '" + file.string() + "', " + what);
  }
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  ListText list{file.string(),
                std::string(static_cast<std::size_t>(std::max<std::streamoff>(size, 0)), '\0')};
  in.seekg(0);
  if (!in.read(list.text.data(), static_cast<std::streamsize>(list.text.size()))) {
    throw Error("the list file '" + file.string() + "' cannot be read; check its permissions");
  }
  return list;
}

}  // namespace seam::stages
