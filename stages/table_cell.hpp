/// Texts that others chose, as cells of a Markdown table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// The name of a class, of number 0 or more, in a Markdown table; its number if it has no name.
[[nodiscard]] inline std::string class_cell(std::int64_t number,
                                            const std::vector<std::string>& names) {
  const auto at = static_cast<std::size_t>(number);
  return at >= names.size() || names[at].empty() ? std::to_string(number) : table_cell(names[at]);
}

}  // namespace seam::stages
