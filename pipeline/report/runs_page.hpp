/// One HTML file with a table of many runs. Unlike the page of a run, it needs no script to draw
/// the rows, so that browsers open a thousand rows quickly.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace seam::host {

struct RunsCell {
  std::string text;
  std::optional<double> number = {};  ///< the sort key; none: the text
  std::string note = {};              ///< a second, smaller line; may be empty
  std::string link = {};              ///< relative to the page; may be empty
};

struct RunsTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<RunsCell>> rows;  ///< one cell per column
};

[[nodiscard]] std::string runs_page_html(const RunsTable& table);

/// Writes the page. Throws seam::Error (configuration) if `output` is a file that `seam report` did
/// not write.
void write_runs_page(const RunsTable& table, const std::filesystem::path& output);

}  // namespace seam::host
