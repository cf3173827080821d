#include "stages/dataset/counted_list.hpp"

#include <algorithm>
#include <fstream>
#include <seam/error.hpp>

#include "stages/counted.hpp"
#include "stages/number_in.hpp"

namespace seam::stages {
namespace {

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : " ") + std::string(name);
  return text;
}

}  // namespace

ListText read_list_text(const std::filesystem::path& file, const std::string& what) {
  return read_list_text(file, "no file '" + file.string() + "', " + what, "list file");
}

ListText read_list_text(const std::filesystem::path& file, const std::string& missing,
                        const std::string& noun) {
  std::error_code fault;
  if (!std::filesystem::is_regular_file(file, fault)) throw Error(missing);
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  ListText list{file.string(),
                std::string(static_cast<std::size_t>(std::max<std::streamoff>(size, 0)), '\0')};
  in.seekg(0);
  if (!in.read(list.text.data(), static_cast<std::streamsize>(list.text.size()))) {
    throw Error("the " + noun + " '" + file.string() + "' cannot be read; check its permissions");
  }
  return list;
}

void ListRow::fail(const std::string& what) const {
  fail_at(*list, line, what);
}

ListReader::ListReader(std::string_view text, const std::string& name) : rest_(text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
  row_.list = &name;
}

bool ListReader::next() {
  constexpr std::string_view blanks = " \t\v\f\r";
  row_.columns.clear();
  if (rest_.empty()) return false;
  const std::size_t length = std::min(rest_.find('\n'), rest_.size());
  text_ = rest_.substr(0, length);
  rest_.remove_prefix(std::min(length + 1, rest_.size()));
  row_.line = ++read_;
  std::size_t at = 0;
  while ((at = text_.find_first_not_of(blanks, at)) != std::string_view::npos) {
    const std::size_t end = std::min(text_.find_first_of(blanks, at), text_.size());
    row_.columns.push_back(text_.substr(at, end - at));
    at = end;
  }
  return true;
}

bool ListReader::next_row(const std::string& rows) {
  std::int64_t blank = 0;
  while (next()) {
    if (row_.columns.empty()) {
      if (blank == 0) blank = row_.line;
      continue;
    }
    if (blank > 0) fail_at(*row_.list, blank, "the line is blank, but " + rows + " follow");
    return true;
  }
  return false;
}

std::vector<ListRow> parse_counted_list(const ListText& list,
                                        const std::vector<std::string_view>& columns) {
  ListReader lines(list);
  const ListRow& row = lines.row();
  if (!lines.next()) row.fail("the file is empty; the first line must hold the number of rows");
  const auto count = row.columns.size() == 1 ? whole_number(row.columns[0]) : std::nullopt;
  if (!count) row.fail("the first line must hold the number of rows and nothing else");
  std::vector<ListRow> rows;
  while (lines.next_row()) {
    if (row.columns.size() != columns.size()) {
      row.fail(counted(row.columns.size(), "column") + " instead of " +
               std::to_string(columns.size()) + ": " + listed(columns));
    }
    if (row.line > 2) {
      rows.push_back(row);
    } else if (row.columns[0] != columns[0]) {
      row.fail("the second line must hold the column names '" + listed(columns) +
               "', but it begins with " + in_quotes(row.columns[0]));
    }
  }
  if (*count != static_cast<std::int64_t>(rows.size())) {
    fail_at(list.name, 1,
            "the first line declares " + counted(*count, "row") + ", but " +
                grouped(static_cast<std::int64_t>(rows.size())) +
                " follow; the file is truncated or was edited: download it again, or correct the "
                "count");
  }
  return rows;
}

void note_once(ListedLines& lines, const ListRow& row, std::string_view name,
               const std::string& noun) {
  const auto [known, is_new] = lines.try_emplace(name, row.line);
  if (is_new) return;
  row.fail(noun + " " + in_quotes(name) + " is listed a second time; first on line " +
           std::to_string(known->second));
}

void fail_at(const std::string& file, std::int64_t line, const std::string& what) {
  throw Error(file + ":" + std::to_string(line) + ": " + what);
}

void refuse_count(const std::string& found, const std::string& expected, const std::string& what) {
  throw Error(found + ", but " + expected + " were expected; this is a different " + what +
              " from the one the experiment was written for");
}

std::optional<std::int64_t> whole_number(std::string_view digits, std::int64_t least,
                                         std::int64_t most) {
  const auto value = number_in<std::int64_t>(digits);
  if (!value || *value < std::max<std::int64_t>(least, 0) || *value > most) return {};
  return value;
}

bool stays_below_root(std::string_view path) {
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace seam::stages
