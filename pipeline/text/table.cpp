#include "pipeline/text/table.hpp"

#include <algorithm>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/terminal.hpp"

namespace seam::host {
namespace {

using Row = std::vector<std::string>;
using Widths = std::vector<std::size_t>;

constexpr std::size_t gap = 2;
constexpr std::size_t least_width = 8;

void widen(Widths& widths, const Row& row) {
  widths.resize(std::max(widths.size(), row.size()), 0);
  for (std::size_t at = 0; at < row.size(); ++at) {
    widths[at] = std::max(widths[at], columns_of(row[at]));
  }
}

Row titles_of(const std::vector<TableColumn>& columns) {
  return mapped(columns, &TableColumn::title);
}

Widths widths_of(const Row& titles, const std::vector<Row>& rows) {
  Widths widths;
  widen(widths, titles);
  for (const Row& row : rows) widen(widths, row);
  return widths;
}

std::size_t total(const Widths& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths) sum += width + (sum > 0 ? gap : 0);
  return sum;
}

/// Shortens the widest flexible column by one character at a time.
void narrow(const std::vector<TableColumn>& columns, std::size_t width, Widths& widths) {
  while (total(widths) > width) {
    std::optional<std::size_t> widest;
    for (std::size_t at = 0; at < columns.size(); ++at) {
      if (columns[at].room == Room::fixed || widths[at] <= least_width) continue;
      if (!widest || widths[at] > widths[*widest]) widest = at;
    }
    if (!widest) return;
    --widths[*widest];
  }
}

std::string cell(const std::string& text, std::size_t width, Align align) {
  const std::size_t size = columns_of(text);
  if (size > width) return cut(text, width - 1) + "…";
  const std::string blanks(width - size, ' ');
  return align == Align::left ? text + blanks : blanks + text;
}

std::string line_of(const Row& row, const Widths& widths, const std::vector<Align>& aligns) {
  std::string line;
  for (std::size_t at = 0; at < row.size(); ++at) {
    if (at > 0) line += std::string(gap, ' ');
    line += cell(row[at], widths[at], at < aligns.size() ? aligns[at] : Align::left);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string table_text(const std::vector<TableColumn>& columns, const std::vector<Row>& rows,
                       std::optional<std::size_t> width) {
  const Row titles = titles_of(columns);
  Widths widths = widths_of(titles, rows);
  if (width) narrow(columns, *width, widths);
  const std::vector<Align> aligns = mapped(columns, &TableColumn::align);
  std::string text = line_of(titles, widths, aligns);
  for (const Row& row : rows) text += line_of(row, widths, aligns);
  return text;
}

std::string columns(const std::vector<Row>& rows, const std::vector<Align>& aligns) {
  const Widths widths = widths_of({}, rows);
  std::string text;
  for (const Row& row : rows) text += line_of(row, widths, aligns);
  return text;
}

std::size_t table_width(const std::vector<TableColumn>& columns, const std::vector<Row>& rows) {
  return total(widths_of(titles_of(columns), rows));
}

}  // namespace seam::host
