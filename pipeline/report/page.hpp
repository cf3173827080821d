/// A self-contained HTML file with style, script, Chart.js and the data.
///
///     page.html with {{title}}, {{style}}, ... ──► page ──► report.html, from a disk, offline
///
/// Names of runs, stages and files come from users: the data is JSON in a script element, without
/// '<', and the page's script inserts strings only as text.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/text/json.hpp"

namespace seam::host {

// The files of a page; embed_parts.cmake generates the source.
extern const std::string_view page_template;  ///< page.html
extern const std::string_view page_style;     ///< page.css
extern const std::string_view page_script;    ///< page.js
extern const std::string_view runs_template;  ///< runs_page.html
extern const std::string_view chart_library;  ///< chart.min.js

/// Escapes a text for the content of an element or a quoted attribute.
[[nodiscard]] std::string html_escaped(std::string_view text);

/// Returns the template with each {{NAME}} replaced by the result of `part`.
[[nodiscard]] std::string filled_template(
    std::string_view text, const std::function<std::string(std::string_view name)>& part);

/// Throws seam::Error (configuration) if there is a file that is not a page of `seam report`.
void refuse_other_files(const std::filesystem::path& output);

std::string page_html(std::string_view title, const Json& data);

/// Reads the runs and writes their page; returns its path. If `output` is empty, it is report.html
/// in the folder of the only run. Throws seam::Error (configuration) if there are several runs and
/// no `output`, a run is given twice, or `output` is a file that is not such a page.
std::filesystem::path write_page(const std::vector<std::string>& runs,
                                 const std::filesystem::path& output);

struct RunsCell {
  std::string text;
  std::optional<double> number = {};  ///< the sort key; none: the text
  std::string note = {};              ///< a second, smaller line; may be empty
  std::string link = {};              ///< relative to the page; may be empty
};

/// The content of one HTML file with a table of many runs. Unlike the page of a run, it needs no
/// script to draw the rows, so that browsers open a thousand rows quickly.
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
