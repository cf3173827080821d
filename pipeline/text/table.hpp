/// Rows of strings as aligned columns, optionally fitted to the width of a terminal.
///
///     metric      value
///     recall.r@1   0.66
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace seam::host {

enum class Align : std::uint8_t { left, right };
enum class Room : std::uint8_t {
  fixed,
  flexible,  ///< may be cut if the table is too wide
};

struct TableColumn {
  std::string title;
  Align align = Align::left;
  Room room = Room::fixed;
};

/// One line per row, with two blanks between columns. If that is wider than `width` characters, the
/// widest flexible columns are cut, down to a few characters, and end in "…". None: any width.
std::string table_text(const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows,
                       std::optional<std::size_t> width);

/// The same without titles and without a limit; columns beyond `aligns` are left-aligned.
std::string columns(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<Align>& aligns);

/// The width of table_text() if nothing is cut.
std::size_t table_width(const std::vector<TableColumn>& columns,
                        const std::vector<std::vector<std::string>>& rows);

}  // namespace seam::host
