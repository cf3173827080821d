/// A self-contained HTML file with style, script, Chart.js and the data.
///
///     page.html with {{title}}, {{style}}, ... ──► page ──► report.html, from a disk, offline
///
/// Names of runs, stages and files come from users: the data is JSON in a script element, without
/// '<', and the page's script inserts strings only as text.
#pragma once

#include <filesystem>
#include <functional>
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

}  // namespace seam::host
