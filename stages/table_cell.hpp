/// Texts that others chose, as cells of a Markdown table.
#pragma once

#include <string>
#include <string_view>

namespace seam::stages {

/// Bars are escaped, and a line's end is a blank.
[[nodiscard]] inline std::string table_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' || c == '\r' ? ' ' : c;
  }
  return cell;
}

}  // namespace seam::stages
