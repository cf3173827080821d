#include "pipeline/experiments/text_table.hpp"

#include <algorithm>

#include "pipeline/config/source.hpp"

namespace seam::host {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t least_width = 8;

std::vector<std::size_t> widths_of(const std::vector<TableColumn>& columns,
                                   const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    std::size_t width = characters(columns[at].title);
    for (const auto& row : rows) width = std::max(width, characters(row[at]));
    widths.push_back(width);
  }
  return widths;
}

std::size_t total(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths) sum += width + (sum > 0 ? gap : 0);
  return sum;
}

/// Takes a character after the other from the widest flexible column.
void narrow(const std::vector<TableColumn>& columns, std::size_t width,
            std::vector<std::size_t>& widths) {
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
  const std::size_t size = characters(text);
  if (size > width) return text.substr(0, byte_of_character(text, width - 1)) + "…";
  const std::string blanks(width - size, ' ');
  return align == Align::left ? text + blanks : blanks + text;
}

}  // namespace

std::string table_text(const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows,
                       std::optional<std::size_t> width) {
  std::vector<std::size_t> widths = widths_of(columns, rows);
  if (width) narrow(columns, *width, widths);
  std::vector<std::string> titles;
  for (const TableColumn& column : columns) titles.push_back(column.title);
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t at = 0; at < columns.size(); ++at) {
      if (at > 0) line += std::string(gap, ' ');
      line += cell(row[at], widths[at], columns[at].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add(titles);
  for (const auto& row : rows) add(row);
  return text;
}

std::size_t table_width(const std::vector<TableColumn>& columns,
                        const std::vector<std::vector<std::string>>& rows) {
  return total(widths_of(columns, rows));
}

}  // namespace seam::host
