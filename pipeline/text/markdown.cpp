#include "pipeline/text/markdown.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "pipeline/text/parse.hpp"
#include "pipeline/text/table.hpp"

namespace seam::host {
namespace {

using Cells = std::vector<std::string>;

/// Without the marks of code and strong emphasis.
std::string plain(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '`') continue;
    if (text.substr(at, 2) == "**") {
      ++at;
    } else {
      result += text[at];
    }
  }
  return result;
}

/// The cells between the bars; "\|" is a bar within one.
Cells cells_of(std::string_view line) {
  line = trimmed(line, " ");
  line.remove_prefix(1);
  Cells cells(1);
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line.substr(at, 2) == "\\|") {
      cells.back() += '|';
      ++at;
    } else if (line[at] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += line[at];
    }
  }
  if (cells.size() > 1 && trimmed(cells.back(), " ").empty())
    cells.pop_back();  // after the last bar
  for (std::string& cell : cells) cell = plain(trimmed(cell, " "));
  return cells;
}

/// The line below a table's head, such as "|---|---:|".
bool is_rule(std::string_view line) {
  return line.find('-') != std::string_view::npos &&
         line.find_first_not_of("|-: ") == std::string_view::npos;
}

std::string table_as_text(const std::vector<std::string_view>& lines, std::size_t width) {
  std::vector<TableColumn> columns;
  for (std::string& title : cells_of(lines.front())) {
    columns.push_back({std::move(title), Align::left, Room::fixed});
  }
  std::vector<Cells> rows;
  for (std::size_t at = 1; at < lines.size(); ++at) {
    Cells row = cells_of(lines[at]);
    row.resize(columns.size());
    if (at == 1 && is_rule(lines[at])) {
      for (std::size_t column = 0; column < columns.size(); ++column) {
        if (row[column].ends_with(':')) columns[column].align = Align::right;
      }
    } else {
      rows.push_back(std::move(row));
    }
  }
  // The first column, then as many others as fit.
  std::string text;
  for (std::size_t from = 1; from == 1 || from < columns.size();) {
    std::vector<TableColumn> part{columns.front()};
    std::vector<Cells> part_rows;
    for (const Cells& row : rows) part_rows.push_back({row.front()});
    std::size_t to = from;
    while (to < columns.size()) {
      part.push_back(columns[to]);
      for (std::size_t row = 0; row < rows.size(); ++row) part_rows[row].push_back(rows[row][to]);
      if (to > from && table_width(part, part_rows) > width) {
        part.pop_back();
        for (Cells& row : part_rows) row.pop_back();
        break;
      }
      ++to;
    }
    if (!text.empty()) text += "\n";
    text += table_text(part, part_rows, std::nullopt);
    from = std::max(to, from + 1);
  }
  return text;
}

}  // namespace

std::string markdown_cell(std::string_view text) {
  return replaced(text, "|", "\\|");
}

std::string markdown_as_text(std::string_view markdown, std::size_t width) {
  std::string text;
  std::vector<std::string_view> table;
  const auto end_table = [&] {
    if (!table.empty()) text += table_as_text(table, width);
    table.clear();
  };
  for (std::string_view line : split(markdown, '\n')) {
    if (trimmed(line, " ").starts_with('|')) {
      table.push_back(line);
      continue;
    }
    end_table();
    const std::size_t mark = line.find_first_not_of('#');
    if (mark > 0 && mark != std::string_view::npos && line[mark] == ' ') {
      line = trimmed(line.substr(mark), " ");
    }
    text += plain(line) + "\n";
  }
  end_table();
  return text;
}

}  // namespace seam::host
