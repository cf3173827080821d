/// Markdown: the text of a table's cell, and a report as text for a terminal.
///
///     | mask | R@1 |  R@5 |          mask  R@1  R@5
///     |------|----:|-----:|   ──►    none  0.5  0.9
///     | `none` | 0.5 | 0.9 |
///
/// Tables become aligned columns. A table that is wider than the screen is continued below, with
/// its first column repeated. Other lines are kept without the marks of code, emphasis and
/// headings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace seam::host {

/// The text as a cell of a table, in which a bar would begin the next one.
std::string markdown_cell(std::string_view text);

/// `width`: columns of the screen.
std::string markdown_as_text(std::string_view markdown, std::size_t width);

}  // namespace seam::host
