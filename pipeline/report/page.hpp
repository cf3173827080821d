/// One HTML file that needs no other: style, script, Chart.js and the data are in it.
///
///     page.html with {{title}}, {{style}}, ... ──► page ──► report.html, from a disk, offline
///
/// Names of runs, stages and files come from users: the data is JSON in a script element, without
/// '<', and the page's script puts texts into elements only as text.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/text/json.hpp"

namespace seam::host {

/// A text as the content of an element or a quoted attribute.
[[nodiscard]] std::string html_escaped(std::string_view text);

/// The template with each {{NAME}} replaced by what `part` says of it.
[[nodiscard]] std::string filled_template(
    std::string_view text, const std::function<std::string(std::string_view name)>& part);

/// Throws seam::Error (configuration) if there is a file that is not a page of `seam report`.
void refuse_other_files(const std::filesystem::path& output);

std::string page_html(std::string_view title, const Json& data);

/// Reads the runs and writes their page; returns where. `output` empty: report.html in the folder
/// of the only run. Throws seam::Error (configuration) where there are several and no `output`,
/// where a run is named twice, and where `output` is a file that is no such page.
std::filesystem::path write_page(const std::vector<std::string>& runs,
                                 const std::filesystem::path& output);

}  // namespace seam::host
